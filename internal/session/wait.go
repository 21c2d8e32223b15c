package session

import (
	"context"
	"slices"
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
	baseline, err := s.unmetBaseline(w)
	if err != nil {
		return nil, err
	}
	var unmet []string
	if r.Text, unmet, err = screen.Check(last.Terminal, w.Conditions()); err != nil {
		return nil, err
	}
	r.Unmet = slices.Concat(baseline, unmet, unproven(w))
	if len(r.Unmet) > 0 {
		r.Status, r.Text = wire.WaitEnded, ""
		r.LastLines = screen.LastLines(text, lastLines)
	}
	r.Matched = r.Status == wire.WaitMatched
	r.ElapsedMS = time.Since(begun).Milliseconds()
	return r, nil
}

// unmetBaseline names the baseline if nothing was written after it.
func (s *Session) unmetBaseline(w wire.Wait) ([]string, error) {
	if w.After == 0 || w.Exit {
		return nil, nil
	}
	later, err := s.outputAfter(w.After)
	if err != nil || later {
		return nil, err
	}
	return []string{"output after the baseline"}, nil
}

// unproven names the conditions that a screen alone does not decide.
func unproven(w wire.Wait) (unmet []string) {
	if w.Idle > 0 {
		unmet = append(unmet, wire.UnprovenIdle)
	}
	if w.Stable > 0 {
		unmet = append(unmet, wire.UnprovenStable)
	}
	if w.Ready {
		unmet = append(unmet, "ready")
	}
	return unmet
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
