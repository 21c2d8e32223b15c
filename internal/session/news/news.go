// Package news tells a caller what happened in any of its sessions, each thing
// once: what their cells ask, how they ended, messages, and what the caller waits
// for.
//
// The logs of the sessions have all of it; a Cursor says how far the caller was
// told. See docs/adr/0065.
package news

import (
	"cmp"
	"context"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
)

// Request says what a caller waits for.
type Request struct {
	Timeout time.Duration // 0: no end
	// All waits until no cell runs, instead of for the first event.
	All bool

	// What no log has. Text and Regex are about what a screen shows, and was
	// written after the last match that was told; Idle is a session whose program
	// is silent for so long.
	Text, Regex *string
	Idle        time.Duration

	// Cut says what is told of a long output. Its MaxBytes is for all outputs
	// together.
	Cut session.Run
	// Warn, or nil, is told what an answer lacks because it could not be read.
	Warn func(error)
}

// The values of Event.Status beside those of cells, cell.Asking,
// session.StatusNotify and session.StatusClosed.
const (
	Text = "text" // what was waited for is on the screen
	Idle = "idle" // there was silence
	// Waiting is a program that waits for input. Of sessions that run cells, and
	// of shells, it is not told: a shell always does.
	Waiting = "waiting"
)

// An Event is one thing that happened.
type Event struct {
	Session string    `json:"session"`
	Status  string    `json:"status"`
	Time    time.Time `json:"ts"`

	// Result, or nil, is the cell's, with the output that was not told before.
	*cell.Result
	Continued bool `json:"continued,omitempty"` // Output goes on where it ended before
	Past      bool `json:"past,omitempty"`      // of a question: it is not asked any more

	ExitCode   *int   `json:"exit_code,omitempty"` // of the cell, or of the program
	ExitSignal string `json:"exit_signal,omitempty"`
	Ending     string `json:"ending,omitempty"` // how the session ended

	From    string `json:"from,omitempty"` // of a message
	Message string `json:"message,omitempty"`
	Match   string `json:"match,omitempty"` // of a text
	// SilentMS is for how long there was silence.
	SilentMS int64 `json:"silent_ms,omitempty"`
	// Screen is what a session shows, where no cell runs.
	Screen string `json:"screen,omitempty"`

	of  *source
	seq uint64
}

// cell returns the id of the event's cell, or "".
func (e *Event) cell() string {
	if e.Result == nil {
		return ""
	}
	return e.CellID
}

// holds reports whether an event is news by itself. A question that is not asked
// any more is told with what comes next.
func (e Event) holds() bool {
	if e.Status != cell.Asking {
		return true
	}
	rec, err := e.of.s.Cells().Load("")
	return err != nil || rec.CellID == e.cell() && rec.Asks() && rec.Question == e.Question
}

// Answer is what a caller is told.
type Answer struct {
	Status string  `json:"status"` // Told, TimedOut or Nothing
	Events []Event `json:"events"` // in the order in which they happened

	// What the sessions do now: their cells run, or ask what was told.
	Running []string `json:"running,omitempty"`
	Asking  []string `json:"asking,omitempty"`
	// InnerShells are those of Asking of which what asks is the prompt of a shell
	// inside the program: the next cell is for it.
	InnerShells []string `json:"inner_shells,omitempty"`

	// Cursor is how far the caller is told, once it has the answer.
	Cursor Cursor `json:"-"`
	// Told are the sessions of the events.
	Told []*session.Session `json:"-"`
}

// The values of Answer.Status.
const (
	Told     = "told"
	TimedOut = "timeout"
	Nothing  = "nothing" // nothing runs that could end or ask
)

// Next returns what the caller was not told yet. If there is nothing, it waits.
func Next(ctx context.Context, sessions []*session.Session, cur Cursor, req Request) (Answer, error) {
	c := newCollector(sessions, cur, req)
	limited := ctx
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	for {
		if err := c.scan(); err != nil {
			return Answer{}, err
		}
		state := c.look(limited)
		switch {
		case state.ends && limited.Err() == nil: // its last event is about to be there
		case req.All && !state.runs, !req.All && slices.ContainsFunc(c.events, Event.holds), !state.canCome:
			return c.tell(ctx, cmp.Or(given(len(c.events) > 0, Told), Nothing))
		case limited.Err() != nil:
			return c.tell(ctx, cmp.Or(given(len(c.events) > 0, Told), TimedOut))
		}
		if err := c.await(limited); err != nil {
			return Answer{}, err
		}
		if ctx.Err() != nil {
			return Answer{}, ctx.Err()
		}
	}
}

func given(holds bool, status string) string {
	if holds {
		return status
	}
	return ""
}

// collector gathers the events of several sessions.
type collector struct {
	req     Request
	begun   time.Time
	sources []*source
	events  []Event // in no order
}

func newCollector(sessions []*session.Session, cur Cursor, req Request) *collector {
	if req.Warn == nil {
		req.Warn = func(error) {}
	}
	c := &collector{req: req, begun: cur.Begun}
	for _, s := range sessions {
		place, known := cur.Sessions[s.Dir.ID]
		c.sources = append(c.sources, &source{s: s, place: place, known: known && place.Seq > 0, warn: req.Warn})
	}
	return c
}

// scan reads what the logs have by now.
func (c *collector) scan() error {
	for _, src := range c.sources {
		found, err := src.scan(c.begun)
		if err != nil {
			return err
		}
		c.events = append(c.events, found...)
	}
	return nil
}

// activity is what the sessions do.
type activity struct {
	runs    bool // a cell
	canCome bool // something that is told
	ends    bool // a session
}

// look finds out what the sessions do now.
func (c *collector) look(ctx context.Context) (now activity) {
	for _, src := range c.sources {
		if src.place.Over {
			continue
		}
		rec, err := src.s.Cells().Load("")
		switch {
		case fault.KindOf(err) == fault.NotFound && src.program:
			now.canCome = true
			now.runs = now.runs || c.req.All && c.works(ctx, src)
		case err != nil:
		case rec.By == cell.ByExit:
			now.ends = true
		case src.isDue(rec), !rec.Final() && !rec.Asks():
			now.runs = now.runs || !src.hit
			now.canCome = true
		case rec.Asks() && rec.Certainty == cell.Guess:
			now.canCome = true
		}
		now.canCome = now.canCome || !src.mute && (c.req.Text != nil || c.req.Regex != nil)
	}
	return now
}

// tell makes the answer.
func (c *collector) tell(ctx context.Context, status string) (Answer, error) {
	slices.SortStableFunc(c.events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	if err := c.addResults(ctx); err != nil {
		return Answer{}, err
	}
	a := Answer{Status: status, Events: append([]Event{}, c.events...), Cursor: Cursor{Begun: c.begun, Sessions: map[string]Place{}}}
	for _, src := range c.sources {
		a.Cursor.Sessions[src.s.Dir.ID] = src.place
		if slices.ContainsFunc(c.events, func(e Event) bool { return e.of == src }) {
			a.Told = append(a.Told, src.s)
		}
		if src.place.Over {
			continue
		}
		switch r, err := src.s.Poll(""); {
		case err != nil || r.Final():
		case r.Asks():
			a.Asking = append(a.Asking, src.name)
			if r.InnerShell {
				a.InnerShells = append(a.InnerShells, src.name)
			}
		default:
			a.Running = append(a.Running, src.name)
		}
	}
	return a, nil
}
