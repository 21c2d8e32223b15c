// Package replay turns an event log into the screen at any sequence number or
// time.
//
// It starts at the nearest segment before the point, so its cost is bounded by
// one segment, whatever the log's length. It only reads: the session may be
// active, over, or in a read-only directory. Replies and notifications of the
// emulator are discarded, because they were handled when they happened.
package replay

import (
	"errors"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
)

// Scrollback is how many lines At keeps above the screen.
const Scrollback = 10000

// A Point is a moment of a session. The zero value is before its first event.
type Point struct {
	seq  uint64
	time time.Duration
	by   pointKind
}

type pointKind uint8

const (
	bySeq pointKind = iota
	byTime
	byEnd
)

// Seq is the moment after event n.
func Seq(n uint64) Point { return Point{seq: n} }

// Time is the moment d after the session's start. What happened at exactly
// that time has happened.
func Time(d time.Duration) Point { return Point{time: d, by: byTime} }

// End is the moment after the last event in the log.
func End() Point { return Point{by: byEnd} }

// A Result is the terminal at a point.
type Result struct {
	Terminal *vt.Terminal
	Position eventlog.Position // of the last event applied: the point, or what the log has before it
	Exit     *Exit             // or nil: no exit was met on the way
	// Missing says what could not be read, so that the terminal is an earlier
	// one than was asked for; see [eventlog.Missing].
	Missing []error
}

// Exit is how the program ended.
type Exit struct {
	Status string
	eventlog.Position
}

// At returns the terminal at p. A point that the log no longer holds is
// fault.NotFound.
func At(l *eventlog.Log, p Point) (*Result, error) {
	return AtWith(l, p, vt.Config{Scrollback: Scrollback})
}

// AtWith is At with a terminal made from cfg, of the recorded size.
func AtWith(l *eventlog.Log, p Point, cfg vt.Config) (*Result, error) {
	r, err := prepare(l, p)
	if err != nil {
		return nil, err
	}
	seg := r.Segment
	cfg.Cols, cfg.Rows = seg.Header.Cols, seg.Header.Rows
	res := &Result{
		Terminal: vt.New(cfg),
		Position: eventlog.Position{Seq: seg.Seq, Elapsed: seg.Elapsed},
		Missing:  r.Missing,
	}
	for ev, err := range r.Events() {
		switch {
		case eventlog.Missing(err):
			res.Missing = append(res.Missing, err)
		case err != nil:
			return nil, err
		default:
			res.Apply(ev)
		}
	}
	return res, nil
}

func prepare(l *eventlog.Log, p Point) (*eventlog.Replay, error) {
	switch p.by {
	case byTime:
		return l.ReplayTime(p.time)
	case byEnd:
		return l.ReplayEnd()
	default:
		return l.ReplaySeq(p.seq)
	}
}

// Start returns a fresh terminal at the beginning of a segment, for callers that
// do not read the events from a Log.
func Start(cols, rows int, at eventlog.Position) *Result {
	return &Result{Terminal: vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: Scrollback}), Position: at}
}

// Apply takes the next event.
func (r *Result) Apply(ev eventlog.Event) {
	r.Position = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
	Apply(r.Terminal, ev)
	if ev.Code == eventlog.Exit {
		r.Exit = &Exit{Status: string(ev.Data), Position: r.Position}
	}
}

// Apply does to t what ev did to the terminal, and throws away what t has to
// say about it.
func Apply(t *vt.Terminal, ev eventlog.Event) {
	if out, ok := ev.Output(); ok {
		t.SetSeq(ev.Seq)
		t.Write(out) // A terminal takes every byte.
	} else if cols, rows, ok := ev.Size(); ok {
		t.Resize(cols, rows)
	} else if ev.Code == eventlog.Clear {
		t.ClearScrollback()
	} else {
		return
	}
	t.TakeReplies()
	t.TakeMarks()
	t.TakeNotes()
}

// Err joins what is missing into one error, or nil.
func (r *Result) Err() error { return errors.Join(r.Missing...) }
