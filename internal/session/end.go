package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/process/pty"
	"den/internal/session/home"
	"den/internal/session/wire"
)

const (
	// upgradeLimit bounds how long a host may take to replace its binary.
	upgradeLimit = 10 * time.Second
	// upgradeRetry is how often it is asked meanwhile.
	upgradeRetry = 5 * time.Millisecond
)

// Kill ends the session and all its processes; each way of asking them may
// take grace before the next, harder one. Where the host is gone already it
// ends what that or the program left, and closes the record.
func (s *Session) Kill(ctx context.Context, grace time.Duration) (wire.Killed, error) {
	killed, err := s.askToEnd(ctx, grace)
	if fault.KindOf(err) != fault.NotRunning || s.options.Remote {
		return killed, err
	}
	m, err := s.Dir.Reconcile()
	if err != nil {
		return killed, err
	}
	// What outlived the program, or its host.
	swept, err := s.Dir.Sweep()
	if err != nil {
		return killed, err // the record stays open: the next try ends what is left
	}
	// Without its host, which all its orphans were children of, and without a
	// cgroup, a process is known by its environment, which it can change.
	unsure := m.Status == home.Lost && m.Cgroup == ""
	if m, err = s.Dir.Close(m); err != nil {
		return killed, err
	}
	return wire.Killed{Status: string(m.Status), Killed: swept, MayHaveSurvivors: unsure}, nil
}

// askToEnd asks the host, again while it replaces its binary.
func (s *Session) askToEnd(ctx context.Context, grace time.Duration) (killed wire.Killed, err error) {
	for begun := time.Now(); ; {
		err = s.call(ctx, wire.MethodKill, wire.Kill{Grace: grace}, &killed)
		if fault.KindOf(err) != fault.Busy || time.Since(begun) > upgradeLimit {
			return killed, err
		}
		if err := poll.Pause(ctx, upgradeRetry); err != nil {
			return killed, err
		}
	}
}

// WaitGone waits until the session's host has ended.
func (s *Session) WaitGone(ctx context.Context) error {
	gone, err := s.Dir.Gone(ctx)
	if err != nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Upgraded says which versions of den a host was replaced from and by.
type Upgraded struct {
	Session string `json:"session"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Upgrade lets the host replace its binary, and returns when the new one
// answers. The host checks the binary before it begins; one that cannot be run
// leaves the old at work.
func (s *Session) Upgrade(ctx context.Context, binary string) (Upgraded, error) {
	var before wire.Upgraded
	if err := s.call(ctx, wire.MethodUpgrade, wire.Upgrade{Binary: binary}, &before); err != nil {
		return Upgraded{}, err
	}
	limited, cancel := context.WithTimeout(ctx, upgradeLimit)
	defer cancel()
	for {
		// The socket queues the call until the new host takes it, or, if that
		// failed, the old one again.
		now, err := s.HostStatus(limited)
		if err == nil && now.Upgrades > before.Upgrades {
			return Upgraded{Session: now.Session, From: before.From, To: now.HostVersion}, nil
		}
		if err != nil && limited.Err() == nil && fault.KindOf(err) != fault.Unreachable {
			return Upgraded{}, err
		}
		if poll.Pause(limited, upgradeRetry) == nil {
			continue
		}
		if ctx.Err() != nil {
			return Upgraded{}, ctx.Err()
		}
		return Upgraded{}, fault.Hintf(fault.Errorf(fault.Unreachable, "the host of session '%s' did not come back with the new binary", s.Dir.ID), "what it reported is in %s", s.Dir.HostLog())
	}
}

// How much longer than a caller's limit a host may take to answer that the limit
// has passed, and how much longer than that while it is seen at work: on a busy
// machine it may wait for a processor.
const (
	answerGrace = time.Second
	busyGrace   = 10 * time.Second
)

// callWithin is call for a method that the host ends after limit. A host that
// does not is frozen. 0 is no limit.
func (s *Session) callWithin(ctx context.Context, limit time.Duration, method string, params, result any) error {
	if limit <= 0 {
		return s.call(ctx, method, params, result)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	passed := time.AfterFunc(limit, func() {
		s.passGrace(limited)
		cancel()
	})
	defer passed.Stop()
	err := s.call(limited, method, params, result)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return err
	}
	m, merr := s.Dir.Inspect()
	if s.options.Remote || merr != nil {
		return fault.Errorf(fault.Unreachable, "the host of session '%s' does not answer", s.Dir.ID)
	}
	return frozen(m)
}

// passGrace returns when the host has had its grace, or ctx ends.
func (s *Session) passGrace(ctx context.Context) {
	m, err := s.Dir.Inspect()
	known := err == nil && !s.options.Remote
	if known && isStopped(m.HostPID) {
		return // it will not use the grace
	}
	for passed := time.Duration(0); passed == 0 || passed < busyGrace && known && isBusy(m.HostPID); passed += answerGrace {
		select {
		case <-ctx.Done():
			return
		case <-time.After(answerGrace):
		}
	}
}

// stoppedLooks is how many times in a row, stoppedInterval apart, a process is
// seen stopped before nobody waits for it any more. A debugger that attaches
// stops it for a moment.
const (
	stoppedLooks    = 4
	stoppedInterval = 250 * time.Millisecond
)

// untilStopped returns a context that ends when a process was stopped and is
// not continued at once. The caller calls end.
func untilStopped(ctx context.Context, pid int) (watched context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		ticker := time.NewTicker(stoppedInterval)
		defer ticker.Stop()
		for seen := 0; seen < stoppedLooks; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if seen++; !isStopped(pid) {
				seen = 0
			}
		}
	}()
	return ctx, func() { cancel(); <-done }
}

// frozen is the error about a host that runs and does not answer.
func frozen(m *home.Manifest) error {
	if isStopped(m.HostPID) {
		return fault.Hintf(fault.Errorf(fault.Unreachable, "session '%s' is frozen: its host (pid %d) is stopped", m.Name, m.HostPID),
			"'kill -CONT %d' lets it go on, 'den kill --force %s' ends it", m.HostPID, m.Name)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "session '%s' is frozen: its host (pid %d) does not answer", m.Name, m.HostPID),
		"'den doctor' looks for the cause, 'den kill --force %s' ends it", m.Name)
}

// isStopped reports whether a process was stopped by a signal or a debugger,
// as far as this system tells.
func isStopped(pid int) bool { return strings.ContainsRune("Tt", stateOf("/proc", pid)) }

// isBusy reports whether a thread of a process works, or waits for a processor or
// a disk, as far as this system tells.
func isBusy(pid int) bool {
	threads := fmt.Sprintf("/proc/%d/task", pid)
	tasks, _ := os.ReadDir(threads) // none: not to be known
	return slices.ContainsFunc(tasks, func(task os.DirEntry) bool {
		tid, err := strconv.Atoi(task.Name())
		return err == nil && strings.ContainsRune("RD", stateOf(threads, tid))
	})
}

// stateOf returns the state of a process or a thread, or a blank: it is not to be
// known.
func stateOf(dir string, id int) rune {
	raw, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", dir, id))
	if err != nil {
		return ' '
	}
	// The state stands behind the name, which may hold anything.
	rest := raw[bytes.LastIndexByte(raw, ')')+1:]
	if len(rest) < 2 {
		return ' '
	}
	return rune(rest[1])
}

// forceLimit is how long a host that is to be ended by force may take to end
// by itself.
const forceLimit = 2 * time.Second

// ForceKill is Kill for a host that may be frozen: if it does not end in time,
// its process is killed, and then what it left behind.
func (s *Session) ForceKill(ctx context.Context, grace time.Duration) (wire.Killed, error) {
	limited, cancel := context.WithTimeout(ctx, grace+forceLimit)
	defer cancel()
	killed, err := s.Kill(limited, grace)
	if err == nil || ctx.Err() != nil || s.options.Remote {
		return killed, err
	}
	m, merr := s.Dir.Inspect()
	if merr != nil {
		return killed, err
	}
	gone, gerr := s.Dir.Gone(ctx)
	if gerr != nil {
		return killed, gerr
	}
	if kerr := s.killHost(m); kerr != nil {
		return killed, fmt.Errorf("%w (%w)", kerr, err)
	}
	select {
	case <-gone:
	case <-ctx.Done():
		return killed, ctx.Err()
	}
	return s.Kill(ctx, grace)
}

// killHost kills the process that the record names, if it is the host of this
// session. A number in a file proves nothing, and neither does an id, which the
// record of a copied Home has too: the process must hold the lock of this very
// directory. The handle stands for one process, whoever gets its number later.
func (s *Session) killHost(m *home.Manifest) error {
	host, err := os.FindProcess(m.HostPID)
	if err != nil {
		return nil // it has ended
	}
	defer host.Release() // Best effort: it only frees the handle.
	if id, ok := pty.Env(m.HostPID, home.HostMark); !ok || id != s.Dir.ID || !s.Dir.HeldBy(m.HostPID) {
		return fault.Errorf(fault.Unreachable, "kill the host of session '%s': process %d is not it", m.Name, m.HostPID)
	}
	if err := host.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fault.Errorf(fault.Denied, "kill the host of session '%s' (pid %d): %w", m.Name, m.HostPID, err)
	}
	return nil
}
