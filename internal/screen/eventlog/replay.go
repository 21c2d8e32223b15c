package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"time"

	"den/internal/base/fault"
)

// A Replay rebuilds the terminal at one point: from a segment that begins at
// or before it, and the events from there on.
type Replay struct {
	Segment Segment // its header has the size for a fresh emulator
	Missing []error // a [*Damage] for each nearer segment that cannot be used

	log  *Log
	seq  uint64 // the last event wanted
	time time.Duration
	next uint64 // the last event before the next segment, or 0 without one
}

// ReplaySeq prepares a replay up to and including event seq, or to the end of
// the log if seq is beyond it. If seq was dropped, the error is
// fault.NotFound.
func (l *Log) ReplaySeq(seq uint64) (*Replay, error) {
	return l.replay(seq, math.MaxInt64)
}

// ReplayTime prepares a replay up to time d after the session's start.
func (l *Log) ReplayTime(d time.Duration) (*Replay, error) {
	return l.replay(math.MaxUint64, d)
}

// ReplayEnd prepares a replay up to the end of the log.
func (l *Log) ReplayEnd() (*Replay, error) {
	return l.replay(math.MaxUint64, math.MaxInt64)
}

func (l *Log) replay(seq uint64, d time.Duration) (*Replay, error) {
	entries, err := l.list()
	if err != nil {
		return nil, err
	}
	var first Segment
	var missing []error
	for i, e := range slices.Backward(entries) {
		seg, err := l.segment(e)
		if err == nil && !seg.numbered && (e.index > 1 || first.Name != "") {
			err = errNoPlace
		}
		switch {
		// The first segment is also what was before it began: nothing.
		case err == nil && seg.Seq <= seq && (seg.Elapsed <= d || seg.Seq == 0 && d >= 0):
			slices.Reverse(missing)
			return &Replay{Segment: seg, Missing: missing, log: l, seq: seq, time: d, next: first.Seq}, nil
		case err == nil:
			first, missing = seg, nil // all after it are no concern of this point
		case fault.KindOf(err) == fault.Protocol:
			return nil, err
		case i == len(entries)-1 && errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, fs.ErrNotExist):
			// It has only begun, or was dropped since it was listed.
		default:
			missing = append(missing, &Damage{Segment: e.name, Line: 1, Err: err})
		}
	}
	if first.Name == "" {
		return nil, noSegments(l.dir)
	}
	return nil, fault.Hintf(
		fault.Errorf(fault.NotFound, "that point of the session is not in the log any more: it begins after event %d, at %v", first.Seq, first.Elapsed),
		"ask for a later point")
}

// Events yields the segment's repaint, if any, and the events up to the point.
// A [*Damage] or a [*Gap] ends it: something before the point is missing, and
// an earlier state was reached.
func (r *Replay) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c, err := r.log.openCursor(entry{r.Segment.Name, r.Segment.Index})
		if err != nil {
			yield(Event{}, notFound(err))
			return
		}
		defer c.close()
		for {
			var ev Event
			err := c.next(&ev)
			switch {
			case err == io.EOF && c.seq < min(r.seq, r.next):
				yield(Event{}, &Gap{From: c.seq + 1, To: r.next})
				return
			case err == io.EOF:
				return
			case err != nil:
				yield(Event{}, err)
				return
			case ev.Seq > r.seq, ev.Time > r.time:
				return
			case !yield(ev, nil):
				return
			}
		}
	}
}
