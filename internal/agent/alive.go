package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

// watched is how long a session is watched that does not show itself ready: a
// command that cannot work mostly ends within it.
const watched = 150 * time.Millisecond

// alive refuses a start whose agent is gone already, or never came. A session
// without hints is fired and forgotten, but a command that ends at once is seen
// all the same: this waits until the program waits for its user, or for a
// moment. One whose processes are named has the step's time to show one.
func (m *Managed) alive(ctx context.Context) (string, Outcome, error) {
	look, cancel := context.WithTimeout(ctx, watched)
	defer cancel()
	watch := m.screen.WatchReady(look)
	defer watch.Stop()
	err := poll.Until(look, func() (bool, error) {
		if err := m.ended(ctx); err != nil {
			return false, err
		}
		return watch.Ready(), nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return "", Failed, err
	}
	if err := m.ended(ctx); err != nil {
		return "", Done, err
	}
	m.screen.LearnLine(ctx)
	if len(m.config.Hints.ProcessNames) == 0 {
		return "", Done, nil
	}
	return "", Done, m.processesUp(ctx)
}

// processesUp waits for one of the agent's processes: a script may start it
// late.
func (m *Managed) processesUp(ctx context.Context) error {
	err := poll.Until(ctx, func() (bool, error) {
		if err := m.ended(ctx); err != nil {
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

// endCheck is how often whileRunning asks.
const endCheck = 250 * time.Millisecond

// whileRunning returns a context that ends with the agent. stop ends it and
// returns how the agent ended, nil where it has not.
func (m *Managed) whileRunning(ctx context.Context) (alive context.Context, stop func() error) {
	alive, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var dead error
	go func() {
		defer close(done)
		defer cancel()
		again := time.NewTicker(endCheck)
		defer again.Stop()
		for {
			select {
			case <-alive.Done():
				return
			case <-again.C:
			}
			if err := m.ended(alive); fault.KindOf(err) == fault.NotRunning { // could not ask is not dead
				dead = err
				return
			}
		}
	}()
	return alive, func() error {
		cancel()
		<-done
		return dead
	}
}

// ended returns an error that says how the agent ended, nil while it runs.
func (m *Managed) ended(ctx context.Context) error {
	running, err := m.provider.IsRunning(ctx, m.session)
	if err != nil || running {
		return err
	}
	how := "it ended at once"
	if exit, err := m.Exit(ctx); err == nil && exit != nil {
		if how = fmt.Sprintf("it ended at once, with status %d", exit.Code); exit.Signal != "" {
			how = "it was ended at once by " + exit.Signal
		}
	}
	return fault.Hintf(fault.Errorf(fault.NotRunning, "%s", how), "its command is %s", strings.Join(m.config.Command, " "))
}
