package dashboard

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/cell"
)

const (
	maxSpans = 2000 // cells, marks and resizes that a timeline keeps of each; the oldest go
	maxCode  = 1000 // bytes of a cell's code, and of a mark; the rest is cut
)

// A Timeline is the history of a session, for a scrubber.
type Timeline struct {
	Start    time.Time         `json:"start"`          // the wall clock at elapsed 0
	First    eventlog.Position `json:"first"`          // the earliest moment that the log still holds
	Last     eventlog.Position `json:"last"`           // the latest
	Exit     string            `json:"exit,omitempty"` // the status, once the program has ended
	Cells    []CellSpan        `json:"cells"`
	Marks    []MarkAt          `json:"marks"`
	Resizes  []ResizeAt        `json:"resizes"`
	Activity Activity          `json:"activity"`
	// Dropped is the number of cells, marks and resizes beyond the limit.
	Dropped int `json:"dropped,omitempty"`
	// Missing describes the parts of the log that could not be read.
	Missing []string `json:"missing,omitempty"`
}

// Duration is the time from the session's start to its last event.
func (t *Timeline) Duration() time.Duration { return t.Last.Elapsed }

// A CellSpan is a cell: code, and when it ran.
type CellSpan struct {
	ID         string            `json:"cell_id"`
	Code       string            `json:"code"`
	Status     cell.Status       `json:"status"`
	By         cell.By           `json:"by,omitempty"`
	ExitCode   *int              `json:"exit_code,omitempty"`
	WaitingFor string            `json:"waiting_for,omitempty"`
	Start      eventlog.Position `json:"start"`
	End        eventlog.Position `json:"end,omitzero"` // zero while it runs
	Took       time.Duration     `json:"took_ns"`      // until its end, or the last event
}

// A MarkAt is a label that a caller put into the log, a notification that the
// program sent, or a bell.
type MarkAt struct {
	eventlog.Position
	Label string `json:"label"`
}

// A ResizeAt is a change of the terminal's size.
type ResizeAt struct {
	eventlog.Position
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// cellEvent is the log's entry about a cell.
type cellEvent struct {
	Cell   string      `json:"cell_id"`
	Status cell.Status `json:"status"`
	Code   string      `json:"code"`
	By     cell.By     `json:"by"`
	Exit   *int        `json:"exit_code"`
}

// add takes one event in.
func (t *Timeline) add(ev eventlog.Event) {
	if _, ok := ev.ActivityNote(); ok {
		return // nothing to be seen
	}
	at := eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
	t.Last = at
	if out, ok := ev.Output(); ok {
		t.Activity.add(ev.Time, len(out))
		return
	}
	switch ev.Code {
	case eventlog.Exit:
		t.Exit = string(ev.Data)
	case eventlog.Mark:
		t.Marks = keepNewest(t, append(t.Marks, MarkAt{at, cut(ev.Data)}))
	case eventlog.Resize:
		if cols, rows, ok := ev.Size(); ok {
			t.Resizes = keepNewest(t, append(t.Resizes, ResizeAt{at, cols, rows}))
		}
	case eventlog.Note:
		if label := noteLabel(ev); label != "" {
			t.Marks = keepNewest(t, append(t.Marks, MarkAt{at, label}))
		}
	case eventlog.Cell:
		t.addCell(ev.Data, at)
	}
}

// noteLabel is the label of a bell or a notification of the program; "" is none.
func noteLabel(ev eventlog.Event) string {
	n, ok := ev.TerminalNote()
	switch {
	case ok && n.Kind == eventlog.TerminalBell:
		return "bell"
	case ok && n.Kind == eventlog.TerminalNotification && n.Title != "" && n.Text != "":
		return cut([]byte(n.Title + ": " + n.Text))
	case ok && n.Kind == eventlog.TerminalNotification:
		return cut([]byte(n.Title + n.Text))
	}
	return ""
}

func (t *Timeline) addCell(data []byte, at eventlog.Position) {
	var ev cellEvent
	if json.Unmarshal(data, &ev) != nil {
		return // of a newer den, which says it otherwise
	}
	i := -1
	for j := range slices.Backward(t.Cells) { // the end is near its beginning
		if t.Cells[j].ID == ev.Cell {
			i = j
			break
		}
	}
	if i < 0 {
		t.Cells = keepNewest(t, append(t.Cells, CellSpan{ID: ev.Cell, Code: cut([]byte(ev.Code)), Status: ev.Status, Start: at}))
		i = len(t.Cells) - 1
	}
	c := &t.Cells[i]
	c.Status, c.By, c.ExitCode = ev.Status, ev.By, ev.Exit
	if ev.Status.Final() {
		c.End = at
	}
}

// finish sets the derived fields, and reads the record of a cell whose end is
// not in the log.
func (t *Timeline) finish(store cell.Store) {
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.End.Seq > 0 {
			c.Took = c.End.Elapsed - c.Start.Elapsed
			continue
		}
		c.Took = t.Last.Elapsed - c.Start.Elapsed
		if r, err := store.Load(c.ID); err == nil { // or it was pruned: the log's word stands
			c.Status, c.By, c.ExitCode, c.WaitingFor = r.Status, r.By, r.ExitCode, r.WaitingFor
		}
	}
}

// clone copies what add and finish change.
func (t *Timeline) clone() *Timeline {
	c := *t
	c.Cells, c.Marks, c.Resizes = cloned(t.Cells), cloned(t.Marks), cloned(t.Resizes)
	c.Missing = slices.Clone(t.Missing)
	c.Activity.Bytes = cloned(t.Activity.Bytes)
	return &c
}

// cloned is never nil: it becomes a list in JSON.
func cloned[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// keepNewest drops the oldest tenth of what is too long.
func keepNewest[T any](t *Timeline, s []T) []T {
	if len(s) <= maxSpans {
		return s
	}
	n := maxSpans / 10
	t.Dropped += n
	return slices.Delete(s, 0, n)
}

func cut(text []byte) string {
	if len(text) > maxCode {
		return strings.ToValidUTF8(string(text[:maxCode]), "") + "…"
	}
	return string(text)
}
