package agent

import (
	"context"
	"fmt"

	"den/internal/base/fault"
)

// A start is recorded beside its session, so that the next keeper can tell how
// far one came that was cut off:
//
//	den.starting     set when the session was made: the fingerprint of what it
//	                 was made from
//	den.setup        "begun" before the first of the user's set-up commands,
//	                 "done" after the last
//	den.fingerprint  set at the end: the start is finished
//
// What den itself does after the session was made (dialogs, readiness, the
// look at its processes) is done again: it only reads the screen and answers
// what is asked. The first nudge has an id of that start, so it is never typed
// twice. Set-up commands are the user's: a start that was cut off among them is
// begun anew with a new session, and so is one whose configuration has changed.
const (
	setupBegun = "begun"
	setupDone  = "done"
)

// StartUnfinished reports whether the session's start was cut off. Where
// nothing can be kept beside a session, it is taken for finished.
func (m *Managed) StartUnfinished(ctx context.Context) (bool, error) {
	kept, err := m.provider.GetMeta(ctx, m.session, MetaFingerprint)
	switch fault.KindOf(err) {
	case fault.Unsupported, fault.NotFound:
		return false, nil
	}
	return err == nil && kept == "", err
}

// startCutOff is StartUnfinished for a conversation. Where it cannot be told,
// what follows meets the same problem and says so.
func (m *Managed) startCutOff(ctx context.Context) bool {
	cutOff, err := m.StartUnfinished(ctx)
	return err == nil && cutOff
}

// firstStep returns the step that a start begins with: the first one, or where
// a start that was cut off left. An agent that runs is refused. A session that
// stands while its agent is gone, or that cannot be resumed, is ended.
func (m *Managed) firstStep(ctx context.Context) (string, error) {
	stands, err := m.provider.IsRunning(ctx, m.session)
	if err != nil || !stands {
		return StepPreStart, err
	}
	running, err := m.IsRunning(ctx)
	if err != nil {
		return "", err
	}
	if running {
		step, err := m.resumeAt(ctx)
		if err != nil || step != StepPreStart {
			return step, err
		}
	}
	if err := m.provider.Stop(ctx, m.session); err != nil {
		return "", fmt.Errorf("end the old session of agent '%s': %w", m.name, err)
	}
	return StepPreStart, nil
}

// resumeAt returns where to go on with the start of a running agent:
// StepPreStart where it must be begun anew.
func (m *Managed) resumeAt(ctx context.Context) (string, error) {
	unfinished, err := m.StartUnfinished(ctx)
	if err != nil {
		return "", err
	}
	if !unfinished {
		return "", fault.Hintf(fault.Errorf(fault.Busy, "agent '%s' runs already, as session '%s'", m.name, m.session), "stop it first")
	}
	made, err := m.provider.GetMeta(ctx, m.session, MetaStarting)
	if err != nil {
		return "", err
	}
	setup, err := m.provider.GetMeta(ctx, m.session, MetaSetup)
	if err != nil {
		return "", err
	}
	switch {
	case made != m.Fingerprint().String() || setup == setupBegun:
		return StepPreStart, nil
	case setup == setupDone:
		return StepNudge, nil
	}
	return StepDialogs, nil
}

// noteStep records that a step begins, where that matters to who resumes.
func (m *Managed) noteStep(ctx context.Context, step string) error {
	if len(m.config.Hints.SessionSetup) == 0 && m.config.Hints.SessionSetupScript == "" {
		return nil
	}
	switch step {
	case StepSetup:
		return m.keepMeta(ctx, MetaSetup, setupBegun)
	case StepNudge:
		return m.keepMeta(ctx, MetaSetup, setupDone)
	}
	return nil
}

// keepMeta keeps something beside the session, where the provider can.
func (m *Managed) keepMeta(ctx context.Context, key, value string) error {
	err := m.provider.SetMeta(ctx, m.session, key, value)
	if err == nil || fault.KindOf(err) == fault.Unsupported {
		return nil
	}
	if dead := m.ended(ctx); dead != nil {
		return dead // a session that has ended may be no place to keep it
	}
	return err
}
