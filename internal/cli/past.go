package cli

import (
	"fmt"
	"strings"
	"time"

	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/replay"
	"den/internal/screen"
	"den/internal/wire"
)

// point is a moment of a session; the zero point is its present or its end.
type point struct {
	seq   uint64
	since time.Duration // since the start
	timed bool
}

// parsePoint reads --at and --seq.
func parsePoint(o snapshotOptions, m *home.Manifest, now time.Time, bySeq bool) (point, error) {
	if bySeq {
		if o.seq == 0 {
			return point{}, fault.Errorf(fault.Usage, "--seq: events are numbered from 1")
		}
		return point{seq: o.seq}, nil
	}
	if o.at == "" {
		return point{}, nil
	}
	since, err := parseAt(o.at, m.Created, now)
	if err != nil {
		return point{}, err
	}
	if since < 0 {
		return point{}, fault.Errorf(fault.Usage, "--at %s is before the session's start at %s", o.at, m.Created.Local().Format(time.DateTime))
	}
	return point{since: since, timed: true}, nil
}

// parseAt returns the time since the session's start.
func parseAt(at string, created, now time.Time) (time.Duration, error) {
	if ago, ok := strings.CutPrefix(at, "-"); ok {
		var d duration
		if err := d.Set(ago); err != nil {
			return 0, fault.Errorf(fault.Usage, "--at: %w", err)
		}
		return now.Add(-time.Duration(d)).Sub(created), nil
	}
	var d duration
	if d.Set(at) == nil {
		return time.Duration(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.TimeOnly, "15:04"} {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day: the last such moment
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
		}
		return t.Sub(created), nil
	}
	return 0, fault.Errorf(fault.Usage, "--at: '%s' is not a time such as 14:03:22, 2026-01-31T14:03:22Z, 90s or -10s", at)
}

// pastSnapshot replays the log up to the point.
func (a *app) pastSnapshot(d home.Dir, p point, scrollback int) (*wire.Snapshot, error) {
	r, err := replayTo(d, p)
	if err != nil {
		return nil, err
	}
	for _, missing := range r.Missing { // what is shown is earlier than what was asked for
		fmt.Fprintf(a.stderr, "den: the screen after event %d is the last that is known: %v\n", r.Position.Seq, missing)
	}
	return &wire.Snapshot{Seq: r.Position.Seq, Screen: screen.Capture(r.Terminal, scrollback)}, nil
}

func replayTo(d home.Dir, p point) (*replay.Result, error) {
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return nil, err
	}
	switch {
	case p.seq > 0:
		return replay.At(log, replay.Seq(p.seq))
	case p.timed:
		return replay.At(log, replay.Time(p.since))
	}
	return replay.At(log, replay.End())
}

// outputAfter reports whether the program wrote anything after an event.
func outputAfter(d home.Dir, seq uint64) (bool, error) {
	log, err := eventlog.Open(d.Log())
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

// waitPast lets the last screen of a session that is over decide. What needs
// time to pass, or a program to ask, cannot be shown by it and is not claimed.
func waitPast(d home.Dir, w wire.Wait, begun time.Time) (*wire.WaitResult, error) {
	m, err := d.Inspect()
	if err != nil {
		return nil, err
	}
	r, err := replayTo(d, point{})
	if err != nil {
		return nil, err
	}
	text := screen.Text(r.Terminal)
	res := &wire.WaitResult{
		Status: wire.WaitMatched, Seq: r.Position.Seq, ScreenHash: screen.Hash(text),
		ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
	}
	res.Text, res.Unmet, err = screen.Check(r.Terminal, w.Conditions())
	if err != nil {
		return nil, err
	}
	if w.After > 0 && !w.Exit {
		later, err := outputAfter(d, w.After)
		if err != nil {
			return nil, err
		}
		if !later {
			res.Unmet = append(res.Unmet, "output after the baseline")
		}
	}
	if w.Idle > 0 {
		res.Unmet = append(res.Unmet, wire.UnprovenIdle)
	}
	if w.Stable > 0 {
		res.Unmet = append(res.Unmet, wire.UnprovenStable)
	}
	if w.Ready {
		res.Unmet = append(res.Unmet, "ready")
	}
	if len(res.Unmet) > 0 {
		res.Status, res.Text = wire.WaitEnded, ""
		res.LastLines = screen.LastLines(text, 10)
	}
	res.Matched = res.Status == wire.WaitMatched
	res.ElapsedMS = time.Since(begun).Milliseconds()
	return res, nil
}
