package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/sandbox"
)

// PrepareLimit bounds how long the place of a session may take to be made
// ready, as when an image is pulled or built. It says nothing about the agent,
// so it has nothing to do with its startup_timeout.
const PrepareLimit = 30 * time.Minute

// limit is how long a step may take.
func (m *Managed) limit(step string) time.Duration {
	if step == StepPrepare || step == StepWorktree { // of a large repository, after those of others
		return PrepareLimit
	}
	return m.config.StartupTimeout
}

// preparer is the provider, if it has something to prepare.
func (m *Managed) preparer() provider.Preparer {
	p, _ := m.provider.(provider.Preparer)
	return p
}

// Slot is the right to start, of which there are few.
type Slot interface {
	Take(ctx context.Context) error
	GiveBack()
}

// prepareWithout makes the place ready without the slot: that may take minutes
// which others can use, and costs this machine little.
func (m *Managed) prepareWithout(slot Slot) stepFunc {
	if slot == nil {
		return m.prepare
	}
	return func(ctx context.Context) (string, Outcome, error) {
		slot.GiveBack()
		output, outcome, err := m.prepare(ctx)
		if err == nil {
			err = slot.Take(ctx)
		}
		return output, outcome, err
	}
}

// PrepareFailed reports whether the session's place could not be made ready:
// there was nothing of the agent yet.
func (e *StartError) PrepareFailed() bool { return e.Step().Name == StepPrepare }

// prepareLines is how much of a place's progress is kept for an error.
const prepareLines = 20

func (m *Managed) prepare(ctx context.Context) (string, Outcome, error) {
	c, err := m.providerConfig(ctx)
	if err != nil {
		return "", Failed, err
	}
	var lines []string
	err = m.preparer().Prepare(ctx, m.session, c, func(line string) {
		lines = append(lines, line)
		lines = lines[max(0, len(lines)-prepareLines):]
	})
	return strings.Join(lines, "\n"), Done, err
}

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
