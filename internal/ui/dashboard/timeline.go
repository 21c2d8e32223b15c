package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"den/internal/base/brief"
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
		t.Marks = keepNewest(t, append(t.Marks, MarkAt{at, cut(string(ev.Data))}))
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
		return cut(n.Title + ": " + n.Text)
	case ok && n.Kind == eventlog.TerminalNotification:
		return cut(n.Title + n.Text)
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
		t.Cells = keepNewest(t, append(t.Cells, CellSpan{ID: ev.Cell, Code: cut(ev.Code), Status: ev.Status, Start: at}))
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

func cut(text string) string {
	short, cut := brief.Bytes(text, maxCode)
	if cut {
		short += "…"
	}
	return short
}

// maxTimelines bounds the cached timelines; the least recently used are
// dropped.
const maxTimelines = 16

// timelines caches what was read of each session, so that the next call reads
// only what is new, and at most one segment again.
type timelines struct {
	mu  sync.Mutex // guards all
	all []*reading // the last used at the end
}

// reading is a timeline that grows.
type reading struct {
	log  string        // the recording's key
	turn chan struct{} // holds a token while nobody reads; guards the timeline
	line Timeline
	read uint64 // the last event read
}

// Timeline returns what happened in a session until now.
func (m *Model) Timeline(ctx context.Context, rec Recording) (*Timeline, error) {
	r := m.timelines.of(rec)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.turn:
	}
	defer func() { r.turn <- struct{}{} }()
	if err := r.catchUp(ctx, rec); err != nil {
		return nil, err
	}
	line := r.line.clone()
	if store, ok := rec.cellStore(); ok {
		line.finish(store)
	}
	return line, nil
}

func (ts *timelines) of(rec Recording) *reading {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	i := slices.IndexFunc(ts.all, func(r *reading) bool { return r.log == rec.key })
	if i >= 0 {
		r := ts.all[i]
		ts.all = append(slices.Delete(ts.all, i, i+1), r)
		return r
	}
	if len(ts.all) >= maxTimelines {
		ts.all = slices.Delete(ts.all, 0, 1)
	}
	r := &reading{log: rec.key, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	ts.all = append(ts.all, r)
	return r
}

func (r *reading) catchUp(ctx context.Context, rec Recording) error {
	log, err := rec.open()
	if err != nil {
		return err
	}
	if err := r.first(log, rec); err != nil {
		return err
	}
	n := 0
	for ev, err := range log.Events(r.read) {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err() // what was read is kept
		}
		switch {
		case eventlog.Missing(err):
			if len(r.line.Missing) < maxMissing && !slices.Contains(r.line.Missing, err.Error()) {
				r.line.Missing = append(r.line.Missing, err.Error())
			}
		case err != nil:
			return err
		default:
			r.line.add(ev)
			r.read = ev.Seq
		}
	}
	return nil
}

// first records the begin of the log and of the session.
func (r *reading) first(log *eventlog.Log, rec Recording) error {
	segs, err := log.Segments()
	if err != nil || len(segs) == 0 {
		return err
	}
	r.line.First = eventlog.Position{Seq: segs[0].Seq, Elapsed: segs[0].Elapsed}
	if segs[0].Seq == 0 { // all is there: what was before the log was empty
		r.line.First.Elapsed = 0
	}
	if r.line.Start.IsZero() {
		r.line.Start = segs[0].Header.Timestamp.Add(-segs[0].Elapsed)
		if start, err := rec.start(); err == nil && !start.IsZero() { // to the millisecond; the header has seconds
			r.line.Start = start
		}
	}
	return nil
}

// buckets is the maximum number of buckets of an Activity.
const buckets = 512

// Activity is a histogram of a session's output: Bytes[i] were printed from
// i*Step on.
type Activity struct {
	Step  time.Duration `json:"step_ns"`
	Bytes []int64       `json:"bytes"`
}

// add counts n bytes at t. If t is beyond the last bucket, neighbouring
// buckets are merged.
func (a *Activity) add(t time.Duration, n int) {
	a.Step = cmp.Or(a.Step, 100*time.Millisecond)
	for t/a.Step >= buckets {
		a.halve()
	}
	i := int(t / a.Step)
	for len(a.Bytes) <= i {
		a.Bytes = append(a.Bytes, 0)
	}
	a.Bytes[i] += int64(n)
}

func (a *Activity) halve() {
	half := a.Bytes[:0]
	for i := 0; i < len(a.Bytes); i += 2 {
		sum := a.Bytes[i]
		if i+1 < len(a.Bytes) {
			sum += a.Bytes[i+1]
		}
		half = append(half, sum)
	}
	a.Bytes, a.Step = half, a.Step*2
}

// Columns spreads the activity until end over n columns, for a scrubber.
func (a *Activity) Columns(end time.Duration, n int) []int64 {
	cols := make([]int64, n)
	if n == 0 || end <= 0 {
		return cols
	}
	for i, b := range a.Bytes {
		at := int(float64(time.Duration(i)*a.Step) / float64(end) * float64(n))
		cols[min(max(at, 0), n-1)] += b
	}
	return cols
}
