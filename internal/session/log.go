package session

import (
	"context"
	"encoding/json"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
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
