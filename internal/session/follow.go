package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// Follow calls each with the events of the log above after, and with those
// that come, until the session is over or each returns an error. What the log
// no longer has is warned of and stepped over.
func (s *Session) Follow(ctx context.Context, after uint64, each func(eventlog.Event) error) error {
	if s.options.Remote {
		return s.followHost(ctx, after, each)
	}
	// A host that is killed writes no last event: then what is there is all
	// that there will be.
	gone, err := s.Dir.Gone()
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
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
	Progress   *eventlog.TerminalWork `json:"progress,omitempty"`
	Guess      bool                   `json:"guess,omitempty"` // of waiting: the kernel does not tell
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
		}
		if json.Unmarshal(ev.Data, &c) != nil {
			return Event{}, false // of a newer den
		}
		return Event{CellID: c.Cell, Status: c.Status, By: c.By, ExitCode: c.Exit, WaitingFor: c.WaitingFor, Question: c.Question, Seq: ev.Seq}, true
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
