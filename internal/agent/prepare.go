package agent

import (
	"context"
	"strings"
	"time"

	"den/internal/place/provider"
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
