package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/session/wire"
)

// What a session's files answer on its own machine, its host's stream of the
// log answers elsewhere.

// followHost is Follow over the host's socket.
func (s *Session) followHost(ctx context.Context, after uint64, each func(eventlog.Event) error) error {
	return s.Log(ctx, wire.Log{After: after, Follow: true}, func(part wire.LogPart) error {
		if err := missing(part); err != nil {
			s.options.Warn(err)
		}
		for _, e := range part.Events {
			if err := each(LogEvent(e)); err != nil {
				return err
			}
		}
		return nil
	})
}

// missing is what a part of the log stands for that cannot be read, or nil.
func missing(part wire.LogPart) error {
	switch {
	case part.Gap != nil:
		return fmt.Errorf("events %d to %d are not in the log", part.Gap.From, part.Gap.To)
	case part.Damage != "":
		return errors.New(part.Damage)
	}
	return nil
}

// errReached ends the stream of a replay behind its moment.
var errReached = errors.New("the moment is reached")

// replayHost is Replay over the host's socket. A moment by its number costs
// one segment of the log, one by its time all that comes before it.
func (s *Session) replayHost(ctx context.Context, at Moment) (*replay.Result, error) {
	status, err := s.HostStatus(ctx)
	if err != nil {
		return nil, err
	}
	w := winder{seq: at.seq, since: math.MaxInt64}
	from := wire.Log{Head: true}
	switch {
	case at.timed:
		w.seq, w.since = math.MaxUint64, at.since
		if at.since < 0 {
			if w.since, err = sinceStart(status.Created, at.since); err != nil {
				return nil, err
			}
		}
	default:
		if at.seq == 0 || at.seq > status.Seq {
			w.seq = status.Seq // the end, as it is now
		}
		from.After = max(w.seq, 1) - 1
	}
	if err := s.Log(ctx, from, w.take); err != nil && !errors.Is(err, errReached) {
		return nil, err
	}
	return &w.at, nil
}

// winder brings a terminal to a moment: the last event of a number and a time
// that are not greater.
type winder struct {
	seq   uint64
	since time.Duration
	at    replay.Result
}

func (w *winder) take(part wire.LogPart) error {
	if err := missing(part); err != nil {
		w.at.Missing = append(w.at.Missing, err)
	}
	if seg := part.Segment; seg != nil {
		if err := w.begin(seg); err != nil {
			return err
		}
	}
	for _, e := range part.Events {
		ev := LogEvent(e)
		if ev.Seq > w.seq || ev.Time > w.since {
			return errReached
		}
		w.at.Apply(ev)
	}
	return nil
}

// begin begins anew with a segment, which repaints the terminal.
func (w *winder) begin(seg *wire.LogSegment) error {
	var repaint eventlog.Event
	if seg.Repaint != nil {
		repaint = LogEvent(*seg.Repaint)
	}
	if w.at.Terminal != nil && (seg.Seq > w.seq || repaint.Time > w.since) {
		return errReached
	}
	w.at = *replay.Start(seg.Cols, seg.Rows, eventlog.Position{Seq: seg.Seq, Elapsed: repaint.Time})
	if seg.Repaint != nil {
		w.at.Apply(repaint)
	}
	return nil
}
