package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"den/internal/agent/conversation"
	"den/internal/base/poll"
	"den/internal/place/sandbox"
)

// sandbox makes the agent's sandbox.
func (m *Managed) sandbox(ctx context.Context) (string, Outcome, error) {
	note, err := m.confine.Prepare(ctx)
	return note, Done, err
}

// confined is a command with its variables as it is started: in the sandbox,
// for an agent that has one.
func (m *Managed) confined(argv []string, env map[string]string) []string {
	if m.confine == nil {
		return argv
	}
	env[sandbox.EnvNames] = strings.Join(slices.Sorted(maps.Keys(env)), ",")
	return m.confine.Wrap(argv)
}

// isConfined reports whether the session's command is in the agent's sandbox: a
// harness keeps its agent in it, and is not.
func (m *Managed) isConfined() bool {
	return m.confine != nil && m.config.Vendor != conversation.Harness
}

// createConfined makes the session and waits until its command is the agent's,
// in its sandbox: what runs before is den, and says nothing of whether the agent
// can.
func (m *Managed) createConfined() []startStep {
	var entry *sandbox.Entry
	create := func(ctx context.Context) (note string, outcome Outcome, err error) {
		if entry, err = m.confine.Await(); err != nil {
			return "", Failed, err
		}
		if note, outcome, err = m.create(ctx); err != nil {
			err = errors.Join(err, entry.Close())
		}
		return note, outcome, err
	}
	enter := func(ctx context.Context) (string, Outcome, error) {
		err := poll.Until(ctx, func() (bool, error) {
			dead := m.ended(ctx) // asked first: who has ended said why before
			if ok, err := entry.Entered(); ok || err != nil {
				return ok, err
			}
			return false, dead
		})
		return "", Done, errors.Join(err, entry.Close())
	}
	return []startStep{{StepCreate, create}, {StepEnter, enter}}
}
