package agent

import (
	"context"
	"time"

	"den/internal/base/fault"
)

// Drain asks the agent to finish its work: by a note beside its session, for
// it to find, and where the workspace has words for it, by a nudge.
func (m *Managed) Drain(ctx context.Context, why string) error {
	if err := m.provider.RemoveMeta(ctx, m.session, MetaDrained); err != nil {
		return err
	}
	if err := m.provider.SetMeta(ctx, m.session, MetaDrain, m.clock().UTC().Format(time.RFC3339)+" "+why); err != nil {
		return err
	}
	if m.config.DrainNudge == "" {
		return nil
	}
	_, err := m.nudges.Add("", m.config.DrainNudge)
	return err
}

// Undrain takes that back.
func (m *Managed) Undrain(ctx context.Context) error {
	if err := m.provider.RemoveMeta(ctx, m.session, MetaDrain); err != nil {
		return err
	}
	return m.provider.RemoveMeta(ctx, m.session, MetaDrained)
}

// Draining says when and why the agent was asked to finish, "" where it was
// not.
func (m *Managed) Draining(ctx context.Context) (string, error) {
	return m.provider.GetMeta(ctx, m.session, MetaDrain)
}

// SayDrained is the agent's word that it has finished.
func (m *Managed) SayDrained(ctx context.Context) error {
	return m.provider.SetMeta(ctx, m.session, MetaDrained, "yes")
}

// restsFor is how long an agent that was asked to finish must have printed
// nothing before its prompt is believed: coding agents show it while they work,
// and something moves then. Places tell times to the second.
const restsFor = 2 * time.Second

// Drained reports whether the agent has finished: it says so beside its
// session. One that was not told in words has also finished when it waits for
// input, rests, and nothing is queued for it.
func (m *Managed) Drained(ctx context.Context) (bool, error) {
	said, err := m.provider.GetMeta(ctx, m.session, MetaDrained)
	if err != nil || said != "" {
		return said != "", err
	}
	if m.config.DrainNudge != "" || m.nudges.Pending() > 0 || !m.Ready(ctx) {
		return false, nil
	}
	if !m.config.CodingAgent() {
		return true, nil // the kernel's word, or a prompt that only shows when it waits
	}
	at, err := m.provider.GetLastActivity(ctx, m.session)
	if fault.KindOf(err) == fault.Unsupported {
		return true, nil
	}
	return err == nil && m.clock().Sub(at) >= restsFor, err
}
