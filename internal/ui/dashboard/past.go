package dashboard

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

const (
	// checkpointEvery is the amount of output between two checkpoints, which
	// bounds the cost of a step back apart from reading the segment.
	checkpointEvery = 1 << 20
	// contextEvery is the number of events between two checks of ctx.
	contextEvery = 256
)

// AtSeq returns the screen after event seq, or at the end of the log if seq is
// beyond it. If the moment is no longer in the log, the error is
// fault.NotFound.
func (m *Model) AtSeq(ctx context.Context, rec Recording, seq uint64) (*Frame, error) {
	if f := m.past.frame(rec.key, seq); f != nil {
		return f, nil
	}
	return m.at(ctx, rec, seq, math.MaxInt64)
}

// AtTime returns the screen t after the session's start.
func (m *Model) AtTime(ctx context.Context, rec Recording, t time.Duration) (*Frame, error) {
	return m.at(ctx, rec, math.MaxUint64, max(0, t))
}

func (m *Model) at(ctx context.Context, rec Recording, seq uint64, t time.Duration) (*Frame, error) {
	log, err := rec.open()
	if err != nil {
		return nil, err
	}
	var r *eventlog.Replay
	if t == math.MaxInt64 {
		r, err = log.ReplaySeq(seq)
	} else {
		r, err = log.ReplayTime(t)
	}
	if err != nil {
		return nil, err
	}
	from := m.past.nearest(rec.key, r.Segment.Seq, seq, t)
	w := &winder{past: &m.past, log: rec.key, from: from, missing: r.Missing}
	if err := w.run(ctx, r); err != nil {
		return nil, err
	}
	f := newFrame(w.term, w.at)
	f.Exit = w.exit
	for _, err := range w.missing {
		f.Missing = append(f.Missing, err.Error())
	}
	if f.Seq == seq { // or the log may still grow towards it
		m.past.keepFrame(rec.key, f)
	}
	return f, nil
}

// winder replays a log to one point, and keeps checkpoints on the way.
type winder struct {
	past *past
	log  string      // the recording's key
	from *checkpoint // or nil: the segment's beginning

	term    *vt.Terminal
	at      eventlog.Position
	exit    string
	missing []error
}

func (w *winder) run(ctx context.Context, r *eventlog.Replay) error {
	w.begin(r.Segment)
	n, output := 0, 0
	for ev, err := range r.Events() {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case eventlog.Missing(err):
			w.missing = append(w.missing, err)
			continue
		case err != nil:
			return err
		case w.from != nil && (ev.Repaint || ev.Seq <= w.from.at.Seq):
			continue
		}
		replay.Apply(w.term, ev)
		w.at = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
		if ev.Code == eventlog.Exit {
			w.exit = string(ev.Data)
		}
		if output += len(ev.Data); output >= checkpointEvery && !ev.Repaint {
			output = 0
			w.keep(r.Segment)
		}
	}
	return nil
}

func (w *winder) begin(seg eventlog.Segment) {
	w.at = eventlog.Position{Seq: seg.Seq, Elapsed: seg.Elapsed}
	cols, rows := seg.Header.Cols, seg.Header.Rows
	if w.from != nil {
		w.at, cols, rows = w.from.at, w.from.cols, w.from.rows
	}
	w.term = vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: replay.Scrollback})
	if w.from != nil {
		w.term.Write(w.from.dump) // A terminal takes every byte.
	}
}

func (w *winder) keep(seg eventlog.Segment) {
	cols, rows := w.term.Size()
	w.past.keep(&checkpoint{log: w.log, segment: seg.Seq, at: w.at, cols: cols, rows: rows, dump: w.term.Dump()})
}

// stepGrain is the time within which output counts as one step.
const stepGrain = 50 * time.Millisecond

// Step returns the next moment at which the screen may have changed, or the
// previous one if direction is negative. At either end it stays.
func (m *Model) Step(ctx context.Context, rec Recording, from eventlog.Position, direction int) (eventlog.Position, error) {
	log, err := rec.open()
	if err != nil {
		return from, err
	}
	if direction >= 0 {
		return stepForward(ctx, log, from)
	}
	return stepBack(ctx, log, from)
}

// paints reports whether an event changes screens.
func paints(ev eventlog.Event) bool {
	_, out := ev.Output()
	return out || ev.Code == eventlog.Resize
}

func stepForward(ctx context.Context, log *eventlog.Log, from eventlog.Position) (eventlog.Position, error) {
	to, until, n := from, time.Duration(math.MaxInt64), 0
	for ev, err := range log.Events(from.Seq) {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return from, ctx.Err()
		}
		switch {
		case eventlog.Missing(err):
			continue
		case err != nil:
			return from, err
		case ev.Time > until:
			return to, nil
		case paints(ev):
			to, until = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}, min(until, ev.Time+stepGrain)
		}
	}
	return to, nil
}

// stepBack searches the segments backwards, from the newest that has events
// before from. A segment's events are those after its repaint.
func stepBack(ctx context.Context, log *eventlog.Log, from eventlog.Position) (eventlog.Position, error) {
	segments, err := log.Segments()
	if err != nil {
		return from, err
	}
	end := from.Seq // of what is looked at, exclusive
	for _, seg := range slices.Backward(segments) {
		if seg.Seq+1 >= end {
			continue
		}
		found, err := lastPaint(ctx, log, seg.Seq, end, from.Elapsed-stepGrain)
		if err != nil || found.Seq > 0 {
			return found, err
		}
		end = seg.Seq + 1
	}
	if len(segments) > 0 && segments[0].Seq > 0 {
		return from, nil // the log begins behind it
	}
	return eventlog.Position{}, nil
}

// lastPaint returns the last event between two that changes screens and is not
// later than the time given, or a zero position.
func lastPaint(ctx context.Context, log *eventlog.Log, after, end uint64, latest time.Duration) (found eventlog.Position, err error) {
	n := 0
	for ev, err := range log.Events(after) {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return eventlog.Position{}, ctx.Err()
		}
		if err != nil && !eventlog.Missing(err) || ev.Seq >= end {
			break // what is missing lies behind; what was found counts
		}
		if err == nil && !ev.Repaint && paints(ev) && ev.Time <= latest {
			found = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
		}
	}
	return found, nil
}

const (
	maxCheckpointBytes = 32 << 20 // the least used go
	maxPastFrames      = 64       // the least used go
)

// checkpoint is a dump of the terminal somewhere within a segment.
type checkpoint struct {
	log        string // the recording's key
	segment    uint64 // the last event before its segment
	at         eventlog.Position
	cols, rows int
	dump       []byte
}

// past caches the positions that scrubbing visited. Logged events never
// change, so entries never become stale.
type past struct {
	mu     sync.Mutex    // guards the fields below
	points []*checkpoint // the last used at the end
	bytes  int
	frames []pastFrame // the last used at the end
}

type pastFrame struct {
	log   string
	frame *Frame
}

// nearest returns the last checkpoint of the segment at or before seq and t,
// or nil.
func (p *past) nearest(log string, segment, seq uint64, t time.Duration) *checkpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, c := range p.points {
		if c.log != log || c.segment != segment || c.at.Seq > seq || c.at.Elapsed > t {
			continue
		}
		if best < 0 || c.at.Seq > p.points[best].at.Seq {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := p.points[best]
	p.points = append(slices.Delete(p.points, best, best+1), c)
	return c
}

func (p *past) keep(c *checkpoint) {
	if len(c.dump) > maxCheckpointBytes/4 {
		return // it would drive all others out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.points, func(known *checkpoint) bool { return known.log == c.log && known.at == c.at }) {
		return
	}
	p.points = append(p.points, c)
	p.bytes += len(c.dump)
	drop := 0
	for p.bytes > maxCheckpointBytes {
		p.bytes -= len(p.points[drop].dump)
		drop++
	}
	p.points = slices.Delete(p.points, 0, drop)
}

func (p *past) frame(log string, seq uint64) *Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.frames {
		if f.log == log && f.frame.Seq == seq {
			p.frames = append(slices.Delete(p.frames, i, i+1), f)
			return f.frame
		}
	}
	return nil
}

func (p *past) keepFrame(log string, f *Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.frames) >= maxPastFrames {
		p.frames = slices.Delete(p.frames, 0, 1)
	}
	p.frames = append(p.frames, pastFrame{log, f})
}
