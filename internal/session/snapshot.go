package session

import (
	"context"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/session/wire"
)

// A Moment is a point in a session's time. The zero Moment is Now.
type Moment struct {
	seq   uint64
	since time.Duration
	timed bool
}

// Now is the present, and for a session that is over its end.
func Now() Moment { return Moment{} }

// AtSeq is the moment after event n; events are numbered from 1.
func AtSeq(n uint64) Moment { return Moment{seq: n} }

// At is the moment so long after the session's start or, with a negative
// duration, so long ago.
func At(d time.Duration) Moment { return Moment{since: d, timed: true} }

// All, as a number of scrollback lines, is all there are.
const All = -1

// Snapshot reads the screen at a moment, with so many lines above it: from the
// host when it is the present of a session that lives, from the log otherwise.
func (s *Session) Snapshot(ctx context.Context, at Moment, scrollback int) (*wire.Snapshot, error) {
	var shot wire.Snapshot
	recorded, err := s.look(ctx, at, wire.SnapshotRequest{Scrollback: scrollback}, &shot)
	if recorded != nil || err != nil {
		return recorded, err
	}
	return &shot, nil
}

// PlainSnapshot is Snapshot for the text of the screen alone, which is much
// less than a screen full of colours and images.
func (s *Session) PlainSnapshot(ctx context.Context, at Moment) (*wire.PlainSnapshot, error) {
	var shot wire.PlainSnapshot
	recorded, err := s.look(ctx, at, wire.SnapshotRequest{Plain: true}, &shot)
	if err != nil {
		return nil, err
	}
	if recorded != nil {
		shot = recorded.Plain()
	}
	return &shot, nil
}

// look has the host fill in shot, or returns the recorded screen if it is the
// log that knows.
func (s *Session) look(ctx context.Context, at Moment, request wire.SnapshotRequest, shot any) (recorded *wire.Snapshot, err error) {
	if at == Now() {
		err := s.callWithin(ctx, s.atOnce, wire.MethodSnapshot, request, shot)
		if err == nil {
			return nil, nil
		}
		kind := fault.KindOf(err)
		if s.options.Remote || ctx.Err() != nil || kind != fault.NotRunning && kind != fault.Unreachable {
			return nil, err
		}
		if kind == fault.Unreachable {
			return s.lastKnown(ctx, request.Scrollback, err)
		}
	}
	return s.replayed(ctx, at, request.Scrollback)
}

// lastKnown is the last recorded screen of a session whose host does not
// answer.
func (s *Session) lastKnown(ctx context.Context, scrollback int, why error) (*wire.Snapshot, error) {
	shot, err := s.replayed(ctx, Now(), scrollback)
	if err != nil {
		return nil, err
	}
	s.options.Warn(fmt.Errorf("this is the last recorded screen: %w", why))
	shot.Frozen = true
	return shot, nil
}

// replayed is the screen as the log has it.
func (s *Session) replayed(ctx context.Context, at Moment, scrollback int) (*wire.Snapshot, error) {
	r, err := s.Replay(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, missing := range r.Missing { // what is shown is earlier than what was asked for
		s.options.Warn(fmt.Errorf("the screen after event %d is the last that is known: %w", r.Position.Seq, missing))
	}
	return &wire.Snapshot{Seq: r.Position.Seq, Screen: screen.Capture(r.Terminal, scrollback)}, nil
}

// Replay returns the terminal at a moment, from the log alone.
func (s *Session) Replay(ctx context.Context, at Moment) (*replay.Result, error) {
	if s.options.Remote {
		return s.replayHost(ctx, at)
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, err
	}
	p, err := s.point(at)
	if err != nil {
		return nil, err
	}
	return replay.At(log, p)
}

func (s *Session) point(at Moment) (replay.Point, error) {
	switch {
	case at.seq > 0:
		return replay.Seq(at.seq), nil
	case !at.timed:
		return replay.End(), nil
	case at.since >= 0:
		return replay.Time(at.since), nil
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return replay.Point{}, err
	}
	since, err := sinceStart(m.Created, at.since)
	return replay.Time(since), err
}

// sinceStart turns a negative duration, which counts from now, into one that
// counts from the session's start.
func sinceStart(created time.Time, ago time.Duration) (time.Duration, error) {
	since := time.Since(created) + ago
	if since < 0 {
		return 0, fault.Errorf(fault.Usage, "%v ago is before the session's start at %s", -ago, created.Local().Format(time.DateTime))
	}
	return since, nil
}
