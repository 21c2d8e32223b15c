package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/session/cell"
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

// Follow calls each with the events of the log above after, and with those
// that come, until the session is over or each returns an error. What the log
// no longer has is warned of and stepped over.
func (s *Session) Follow(ctx context.Context, after uint64, each func(eventlog.Event) error) error {
	if s.options.Remote {
		return s.followHost(ctx, after, each)
	}
	// A host that is killed writes no last event: then what is there is all
	// that there will be.
	following, stop := context.WithCancel(ctx)
	defer stop()
	gone, err := s.Dir.Gone(following)
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-gone:
			stop()
		case <-following.Done():
		}
	}()
	last := after
	take := func(events iter.Seq2[eventlog.Event, error]) error {
		for ev, err := range events {
			switch {
			case eventlog.Missing(err):
				s.options.Warn(err)
				continue
			case errors.Is(err, context.Canceled):
				return nil
			case err != nil:
				return err
			}
			last = ev.Seq
			if err := each(ev); err != nil {
				return err
			}
		}
		return nil
	}
	if err := take(eventlog.Follow(following, s.Dir.Log(), after)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return err
	}
	return take(log.Events(last))
}

// LastSeq is the number of the last event in the log.
func (s *Session) LastSeq(ctx context.Context) (uint64, error) {
	if s.options.Remote {
		status, err := s.HostStatus(ctx)
		if err != nil {
			return 0, err
		}
		return status.Seq, nil
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return 0, err
	}
	last, err := log.Last()
	return last.Seq, err
}

// BeforeCell is the event just before a cell was fired: who follows from there
// does not miss its end.
func (s *Session) BeforeCell(id string) (uint64, error) {
	rec, err := s.loadCell(id)
	if err != nil {
		return 0, err
	}
	return max(rec.StartSeq, 1) - 1, nil
}

// The values of Event.Status beside those of cells.
const (
	StatusNotify = "notify" // a message

	// What the program did to its terminal that no screen shows.
	StatusBell         = eventlog.TerminalBell
	StatusNotification = eventlog.TerminalNotification // a message that the program sent (OSC 9, 99, 777)
	StatusProgress     = eventlog.TerminalProgress
	StatusClipboard    = eventlog.TerminalClipboard

	StatusClosed = "closed" // the program has ended
)

// An Event is what happened to a session's cells, a message, or its end.
type Event struct {
	CellID   string `json:"cell_id,omitempty"`
	Session  string `json:"session"`
	Status   string `json:"status"`
	From     string `json:"from,omitempty"`
	Title    string `json:"title,omitempty"` // of a notification
	Message  string `json:"message,omitempty"`
	By       string `json:"by,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// of a question (cell.Asking)
	WaitingFor string                 `json:"waiting_for,omitempty"`
	Question   string                 `json:"question,omitempty"`
	InnerShell bool                   `json:"inner_shell,omitempty"` // as in cell.Result
	Progress   *eventlog.TerminalWork `json:"progress,omitempty"`
	Guess      bool                   `json:"guess,omitempty"` // of waiting: the kernel does not tell
	Told       bool                   `json:"told,omitempty"`  // of a cell: a caller waited for it, and was told
	Seq        uint64                 `json:"seq"`
	Time       time.Time              `json:"ts"`
}

// CellEnded reports whether the event is a cell's end.
func (e Event) CellEnded() bool {
	return e.CellID != "" && e.Status != string(cell.Fired) && e.Status != cell.Asking
}

// Events is Follow for what happens to cells, messages and the end.
func (s *Session) Events(ctx context.Context, after uint64, each func(Event) error) error {
	name, created, err := s.origin(ctx)
	if err != nil {
		return err
	}
	return s.Follow(ctx, after, func(ev eventlog.Event) error {
		e, ok := EventOf(ev)
		if !ok {
			return nil
		}
		e.Session, e.Time = name, created.Add(ev.Time)
		return each(e)
	})
}

// origin is the session's name and when it began.
func (s *Session) origin(ctx context.Context) (name string, created time.Time, err error) {
	if s.options.Remote {
		status, err := s.HostStatus(ctx)
		if err != nil {
			return "", time.Time{}, err
		}
		return status.Session, status.Created, nil
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return "", time.Time{}, err
	}
	return m.Name, m.Created, nil
}

// EventOf reads an event of the log that is an Event; Session and Time are
// left open.
func EventOf(ev eventlog.Event) (Event, bool) {
	switch ev.Code {
	case eventlog.Cell:
		var c struct {
			Cell   string `json:"cell_id"`
			Status string `json:"status"`
			By     string `json:"by"`
			Exit   *int   `json:"exit_code"`

			WaitingFor string `json:"waiting_for"`
			Question   string `json:"question"`
			InnerShell bool   `json:"inner_shell"`
			Told       bool   `json:"told"`
		}
		if json.Unmarshal(ev.Data, &c) != nil {
			return Event{}, false // of a newer den
		}
		return Event{
			CellID: c.Cell, Status: c.Status, By: c.By, ExitCode: c.Exit, WaitingFor: c.WaitingFor, Question: c.Question, InnerShell: c.InnerShell,
			Told: c.Told, Seq: ev.Seq,
		}, true
	case eventlog.Note:
		var n struct {
			Notify *wire.Notify `json:"notify"`
		}
		if json.Unmarshal(ev.Data, &n) != nil || n.Notify == nil {
			return terminalEvent(ev)
		}
		return Event{Status: StatusNotify, From: n.Notify.From, Message: n.Notify.Message, Seq: ev.Seq}, true
	case eventlog.Exit:
		return Event{Status: StatusClosed, Seq: ev.Seq}, true
	}
	return Event{}, false
}

// terminalEvent reads a note of the terminal, or of what its program does.
func terminalEvent(ev eventlog.Event) (Event, bool) {
	if n, ok := ev.ActivityNote(); ok {
		return Event{Status: n.Activity, Guess: n.Guess, Seq: ev.Seq}, true
	}
	n, ok := ev.TerminalNote()
	if !ok {
		return Event{}, false
	}
	return Event{Status: n.Kind, Title: n.Title, Message: n.Text, Progress: n.Progress, Seq: ev.Seq}, true
}
