package session

import (
	"context"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/session/wire"
)

// Wait waits until all conditions hold for one screen, their time is up, or
// the session is over; then its last screen decides.
func (s *Session) Wait(ctx context.Context, w wire.Wait) (*wire.WaitResult, error) {
	begun, limit := time.Now(), w.Timeout
	for {
		w.Timeout = remaining(limit, begun)
		var r wire.WaitResult
		err := s.callWithin(ctx, w.Timeout, wire.MethodWait, w, &r)
		switch {
		case fault.KindOf(err) == fault.NotRunning && !s.options.Remote:
			return s.waitPast(ctx, w, begun)
		case err != nil:
			return nil, err
		case r.Status == wire.WaitUpgrade:
			continue // the host replaces its binary: ask the new one
		}
		r.ElapsedMS = time.Since(begun).Milliseconds()
		return &r, nil
	}
}

// remaining is what is left of a limit, for a host that is asked again. 0 is
// no limit, so what is used up is the shortest one.
func remaining(limit time.Duration, begun time.Time) time.Duration {
	if limit <= 0 {
		return limit
	}
	return max(time.Millisecond, limit-time.Since(begun))
}

// lastLines is how much of the screen an unmet wait's answer carries; hosts
// give as much.
const lastLines = 10

// waitPast lets the last screen of a session that is over decide. What needs
// time to pass, or a program to ask, cannot be shown by it and is not claimed.
func (s *Session) waitPast(ctx context.Context, w wire.Wait, begun time.Time) (*wire.WaitResult, error) {
	m, err := s.Dir.Inspect()
	if err != nil {
		return nil, err
	}
	last, err := s.Replay(ctx, Now())
	if err != nil {
		return nil, err
	}
	text := screen.Text(last.Terminal)
	r := &wire.WaitResult{
		Status: wire.WaitMatched, Seq: last.Position.Seq, ScreenHash: screen.Hash(text),
		ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
	}
	var failed error
	r.Unmet = w.Unmet(wire.Moment{
		Ended: true,
		Wrote: func(after uint64) (later bool) {
			later, failed = s.outputAfter(after)
			return later
		},
		Screen: func(unmet []string) []string {
			found, onScreen, err := screen.Check(last.Terminal, w.Conditions())
			if r.Text = found; err != nil {
				failed = err
			}
			return append(unmet, onScreen...)
		},
	})
	if failed != nil {
		return nil, failed
	}
	if len(r.Unmet) > 0 {
		r.Status, r.Text = wire.WaitEnded, ""
		r.LastLines = screen.LastLines(text, lastLines)
	}
	r.Matched = r.Status == wire.WaitMatched
	r.ElapsedMS = time.Since(begun).Milliseconds()
	return r, nil
}

// outputAfter reports whether the program wrote anything after an event.
func (s *Session) outputAfter(seq uint64) (bool, error) {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return false, err
	}
	for ev, err := range log.Events(seq) {
		if eventlog.Missing(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		if _, ok := ev.Output(); ok {
			return true, nil
		}
	}
	return false, nil
}
