package dashboard

import (
	"context"
	"slices"
	"sync"

	"den/internal/screen/eventlog"
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
