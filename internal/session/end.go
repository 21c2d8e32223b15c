package session

import (
	"context"
	"time"

	"den/internal/base/fault"
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
		if err := pause(ctx, upgradeRetry); err != nil {
			return killed, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// WaitGone waits until the session's host has ended.
func (s *Session) WaitGone(ctx context.Context) error {
	gone, err := s.Dir.Gone()
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
		if pause(limited, upgradeRetry) == nil {
			continue
		}
		if ctx.Err() != nil {
			return Upgraded{}, ctx.Err()
		}
		return Upgraded{}, fault.Hintf(fault.Errorf(fault.Unreachable, "the host of session '%s' did not come back with the new binary", s.Dir.ID), "what it reported is in %s", s.Dir.HostLog())
	}
}
