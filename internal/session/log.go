package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/session/wire"
)

// Log streams the log from the host by sequence number and calls each with
// every part of it. It is for sessions whose files are elsewhere: no file of
// the session is read. It goes on over a host that replaces its binary, or a
// connection that breaks, with the event behind the last one: nothing is lost
// or doubled. A session that is over is NotRunning, also when it ends before
// all of its log was read.
func (s *Session) Log(ctx context.Context, from wire.Log, each func(wire.LogPart) error) error {
	for {
		before := from
		ended, err := s.logOnce(ctx, &from, each)
		switch {
		case ended || ctx.Err() != nil:
			return err
		case fault.KindOf(err) == fault.Unreachable && from != before:
			// It broke on the way: go on from where it did.
		case err != nil:
			return err
		}
	}
}

// logOnce streams by one connection and brings from up to what was seen. It
// reports whether there is nothing more to ask for.
func (s *Session) logOnce(ctx context.Context, from *wire.Log, each func(wire.LogPart) error) (ended bool, err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close() // Best effort: the answer is here.
	var last wire.LogPart
	var failed error
	err = c.Stream(ctx, wire.MethodLog, from, func(raw json.RawMessage) error {
		last = wire.LogPart{}
		if failed = json.Unmarshal(raw, &last); failed != nil {
			failed = fault.Errorf(fault.Protocol, "part of the log is not understood: %w", failed)
			return failed
		}
		if failed = each(last); failed != nil {
			return failed
		}
		advance(from, last)
		return nil
	})
	if failed != nil {
		return true, failed
	}
	return err == nil && !last.Upgrade, err
}

// advance makes from ask for what comes behind a part.
func advance(from *wire.Log, part wire.LogPart) {
	if part.Segment != nil {
		from.After, from.Head = part.Segment.Seq, false
	}
	if n := len(part.Events); n > 0 {
		from.After, from.Head = part.Events[n-1].Seq, false
	}
}

// LogEvent is an event of the stream as the log's readers know it.
func LogEvent(e wire.LogEvent) eventlog.Event {
	ev := eventlog.Event{Seq: e.Seq, Time: time.Duration(e.Elapsed) * time.Microsecond, Code: e.Code, Data: e.Bytes}
	if e.Bytes == nil {
		ev.Data = []byte(e.Text)
	}
	return ev
}

// Mirror copies the log into a directory, where it is a log like any other:
// it can be replayed, exported and followed there while it grows. It goes on
// with a copy that is there, and ends when the session does. each, or nil, is
// told of every event that was copied.
func (s *Session) Mirror(ctx context.Context, dir string, each func(eventlog.Event)) error {
	m, err := eventlog.OpenMirror(dir)
	if err != nil {
		return err
	}
	err = s.Log(ctx, wire.Log{After: m.Seq(), Follow: true}, func(part wire.LogPart) error {
		err := mirrorPart(m, part)
		for _, e := range part.Events {
			if err == nil && each != nil {
				each(LogEvent(e))
			}
		}
		return err
	})
	if cerr := m.Close(); err == nil {
		err = cerr
	}
	return err
}

func mirrorPart(m *eventlog.Mirror, part wire.LogPart) error {
	if seg := part.Segment; seg != nil {
		var repaint *eventlog.Event
		if seg.Repaint != nil {
			ev := LogEvent(*seg.Repaint)
			repaint = &ev
		}
		if err := m.Begin(seg.Index, []byte(seg.Header), repaint); err != nil {
			return err
		}
	}
	for _, e := range part.Events {
		if err := m.Append(LogEvent(e)); err != nil {
			return err
		}
	}
	return m.Flush()
}

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
