package agent

import (
	"context"
	"errors"
	"strings"

	"den/internal/fault"
)

// alive refuses a start whose agent is gone already, or never came. A session
// without hints is fired and forgotten, but a command that ends at once is seen
// all the same: this waits until the program waits for its user, or for a
// moment. One whose processes are named has the step's time to show one.
func (m *Managed) alive(ctx context.Context) (string, Outcome, error) {
	look, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	watch := m.watchReady(look)
	defer watch.stop()
	err := poll(look, func() (bool, error) {
		if err := m.dead(ctx); err != nil {
			return false, err
		}
		return watch.ready(), nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return "", Failed, err
	}
	if err := m.dead(ctx); err != nil || len(m.config.Hints.ProcessNames) == 0 {
		return "", Done, err
	}
	return "", Done, m.processesUp(ctx)
}

// processesUp waits for one of the agent's processes: a script may start it
// late.
func (m *Managed) processesUp(ctx context.Context) error {
	err := poll(ctx, func() (bool, error) {
		if err := m.dead(ctx); err != nil {
			return false, err
		}
		return m.processAlive(ctx)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Hintf(fault.Errorf(fault.NotRunning, "its session stands, but no process of it is called %s", strings.Join(m.config.Hints.ProcessNames, " or ")),
			"process_names says by which processes the agent is known")
	}
	return err
}
