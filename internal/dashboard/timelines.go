package dashboard

import (
	"context"
	"slices"
	"sync"

	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/home"
)

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
	log  string        // the session's directory
	turn chan struct{} // holds a token while nobody reads; guards the timeline
	line Timeline
	read uint64 // the last event read
}

// Timeline returns what happened in a session until now.
func (m *Model) Timeline(ctx context.Context, d home.Dir) (*Timeline, error) {
	r := m.timelines.of(d)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.turn:
	}
	defer func() { r.turn <- struct{}{} }()
	if err := r.catchUp(ctx, d); err != nil {
		return nil, err
	}
	line := r.line.clone()
	line.finish(cell.Store{Dir: d.Cells()})
	return line, nil
}

func (ts *timelines) of(d home.Dir) *reading {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	i := slices.IndexFunc(ts.all, func(r *reading) bool { return r.log == d.Path })
	if i >= 0 {
		r := ts.all[i]
		ts.all = append(slices.Delete(ts.all, i, i+1), r)
		return r
	}
	if len(ts.all) >= maxTimelines {
		ts.all = slices.Delete(ts.all, 0, 1)
	}
	r := &reading{log: d.Path, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	ts.all = append(ts.all, r)
	return r
}

func (r *reading) catchUp(ctx context.Context, d home.Dir) error {
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return err
	}
	if err := r.first(log, d); err != nil {
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
func (r *reading) first(log *eventlog.Log, d home.Dir) error {
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
		if m, err := d.Load(); err == nil { // to the millisecond; the header has seconds
			r.line.Start = m.Created
		}
	}
	return nil
}
