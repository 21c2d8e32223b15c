package agent

import (
	"context"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Drift returns what makes the running agent another than it should be, nil
// for nothing. A session without a fingerprint is not den's doing, or its start
// was cut off: it drifts.
func (m *Managed) Drift(ctx context.Context) ([]string, error) {
	kept, err := m.provider.GetMeta(ctx, m.session, MetaFingerprint)
	if err != nil {
		return nil, err
	}
	if kept == "" {
		return []string{"no fingerprint: its start was cut off"}, nil
	}
	was, err := ParseFingerprint(kept)
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", m.name, err)
	}
	return was.Diff(m.Fingerprint()), nil
}

// Glance tells what an observation of its session says of the agent: whether it
// runs, and whether it takes a closer look to know that it is as it should be.
func (m *Managed) Glance(o provider.Observation) (running, closer bool) {
	was, err := ParseFingerprint(o.Meta[MetaFingerprint])
	closer = err != nil || len(was.Diff(m.Fingerprint())) > 0 || len(m.config.Hints.ProcessNames) > 0
	return o.Running, closer
}

// Held says why the agent must be left alone now, "" for no reason: a person
// is at its terminal, or it asks somebody for a decision.
func (m *Managed) Held(ctx context.Context) (string, error) {
	if t, ok := m.provider.(provider.OnTerminal); ok {
		n, _, err := t.Attached(ctx, m.session)
		if err != nil && fault.KindOf(err) != fault.Unsupported {
			return "", err
		}
		if n > 0 {
			return "somebody is attached", nil
		}
	}
	asks, err := m.screen.Asks(ctx)
	if err != nil || !asks {
		return "", err
	}
	return "it asks for a decision", nil
}

// Activity is when it last wrote something.
func (m *Managed) Activity(ctx context.Context) (time.Time, error) {
	at, err := m.provider.GetLastActivity(ctx, m.session)
	if fault.KindOf(err) == fault.Unsupported {
		return time.Time{}, nil
	}
	return at, err
}

// Exit is how it ended, nil while it runs and where that is not known.
func (m *Managed) Exit(ctx context.Context) (*provider.Exit, error) {
	exit, err := m.provider.Exit(ctx, m.session)
	if k := fault.KindOf(err); k == fault.NotFound || k == fault.Unsupported {
		return nil, nil
	}
	return exit, err
}

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
