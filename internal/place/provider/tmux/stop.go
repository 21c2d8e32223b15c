package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/place/provider"
	"den/internal/process/supervise"
)

const (
	killRound = 50 * time.Millisecond // between two kills of what does not end
	killLimit = 5 * time.Second       // only a process stuck in the kernel outlives that
	diedLimit = time.Second           // for tmux to take note of the command's end
	pollPause = 500 * time.Microsecond
)

// Stop ends a session's processes and then the session. Without a server there
// are no sessions, but what outlived it is ended.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if err := provider.CheckName(name); err != nil {
		return err
	}
	one, err := p.find(ctx, name)
	if err != nil {
		return err
	}
	if one == nil {
		if err := p.end(ctx, p.marked(name), terminate); err != nil {
			return fmt.Errorf("stop session '%s': %w", name, err)
		}
		return nil
	}
	return p.remove(ctx, name, one)
}

// remove ends what a session still runs, lets tmux see the command's end, so
// that watchers hear of it, and takes the session away.
func (p *Provider) remove(ctx context.Context, name string, one *pane) error {
	if err := p.end(ctx, p.processesOf(name, one), hangUp, terminate); err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	last, err := p.awaitDeath(ctx, name, one)
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	_, err = p.askOf(ctx, one, sequence(p.recordEnd(name, last), command("kill-session", "-t", one.session)))
	if refused(err) || errors.Is(err, errNoServer) {
		return nil // it went by itself, or with its server
	}
	return err
}

// awaitDeath returns the session as tmux saw it last.
func (p *Provider) awaitDeath(ctx context.Context, name string, one *pane) (*pane, error) {
	// At the limit a process of somebody else holds the terminal.
	for limit := time.Now().Add(diedLimit); !one.ended() && time.Now().Before(limit); {
		now, err := p.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if now == nil || now.session != one.session {
			return one, nil // somebody else took it away
		}
		one = now
		if !one.ended() {
			if err := wake.Pause(ctx, pollPause); err != nil {
				return nil, err
			}
		}
	}
	return one, nil
}

// The steps that ask. A stopped job must run to hear of it.
var (
	hangUp    = []os.Signal{syscall.SIGHUP, syscall.SIGCONT}
	terminate = []os.Signal{syscall.SIGTERM, syscall.SIGCONT}
)

// endTries bounds how often processes are looked for again because some could
// not be told to be the session's.
const endTries = 5

// end ends processes, also those that could not be told to be the session's at
// first.
func (p *Provider) end(ctx context.Context, processes func() ([]process, error), steps ...[]os.Signal) error {
	for try := 0; ; try++ {
		if err := p.endSeen(ctx, processes, steps...); err != nil {
			return err
		}
		if try == endTries || !supervise.AwaitTransitions(ctx) {
			return nil
		}
	}
}

// endSeen ends the processes that are seen: each step asks harder, and lasts
// until all are gone or its time is up. The last step does not ask.
func (p *Provider) endSeen(ctx context.Context, processes func() ([]process, error), steps ...[]os.Signal) error {
	for _, signals := range steps {
		gone, err := sweep(ctx, processes, p.grace, p.grace, signals...)
		if gone || err != nil {
			return err
		}
	}
	gone, err := sweep(ctx, processes, killLimit, killRound, syscall.SIGKILL)
	if err == nil && !gone {
		left, _ := processes() // only to name them
		err = fault.Errorf(fault.Internal, "processes do not end, though they were killed: %v", numbers(left))
	}
	return err
}

// sweep signals all that is there, and again every round, until nothing is
// there. What forks meanwhile is found by the next look; each process is
// signalled once a round.
func sweep(ctx context.Context, processes func() ([]process, error), limit, round time.Duration, signals ...os.Signal) (gone bool, err error) {
	last := time.Now().Add(limit)
	for {
		all, err := processes()
		if err != nil || len(all) == 0 {
			return err == nil, err
		}
		for _, pr := range all {
			pr.signal(signals...)
		}
		until := time.Now().Add(round)
		for anyLives(all) && time.Now().Before(until) {
			if err := wake.Pause(ctx, pollPause); err != nil {
				return false, err
			}
		}
		if !time.Now().Before(last) {
			all, err = processes()
			return len(all) == 0 && err == nil, err
		}
	}
}

func anyLives(all []process) bool {
	for _, pr := range all {
		if pr.lives() {
			return true
		}
	}
	return false
}

func numbers(all []process) []int {
	pids := make([]int, 0, len(all))
	for _, pr := range all {
		pids = append(pids, pr.pid)
	}
	return pids
}
