package eventlog

import (
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"den/internal/fault"
)

// A Replay is what rebuilds the terminal at one point: a segment that begins
// at or before it, and the events from there on.
type Replay struct {
	Segment Segment // its header has the size for a fresh emulator

	log  *Log
	seq  uint64 // the last event wanted
	time time.Duration
}

// ReplaySeq prepares a replay up to and with event seq. A seq behind the end
// of the log means its end; one before all that is kept is fault.NotFound.
func (l *Log) ReplaySeq(seq uint64) (*Replay, error) {
	return l.replay(seq, math.MaxInt64)
}

// ReplayTime prepares a replay of all that happened until d after the
// session's start.
func (l *Log) ReplayTime(d time.Duration) (*Replay, error) {
	return l.replay(math.MaxUint64, d)
}

// ReplayEnd prepares a replay of the end of the log.
func (l *Log) ReplayEnd() (*Replay, error) {
	return l.replay(math.MaxUint64, math.MaxInt64)
}

func (l *Log) replay(seq uint64, d time.Duration) (*Replay, error) {
	entries, err := l.list()
	if err != nil {
		return nil, err
	}
	var first Segment
	for _, e := range slices.Backward(entries) {
		seg, err := l.segment(e)
		if fault.KindOf(err) == fault.Protocol {
			return nil, err
		}
		if err != nil {
			continue
		}
		if !seg.numbered && (e.index > 1 || first.Name != "") {
			continue // it says nothing of where it begins
		}
		if seg.Seq <= seq && seg.Elapsed <= d {
			return &Replay{Segment: seg, log: l, seq: seq, time: d}, nil
		}
		first = seg
	}
	if first.Name == "" {
		return nil, noSegments(l.dir)
	}
	return nil, fault.Hintf(
		fault.Errorf(fault.NotFound, "that point of the session is not in the log any more: it begins after event %d, at %v", first.Seq, first.Elapsed),
		"ask for a later point")
}

// Events yields the segment's repaint, if it has one, and the events up to the
// point. Damage ends it: what comes after cannot be known from this segment.
func (r *Replay) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c, err := openCursor(r.log.dir, entry{r.Segment.Name, r.Segment.Index})
		if err != nil {
			yield(Event{}, notFound(err))
			return
		}
		defer c.close()
		for {
			var ev Event
			err := c.next(&ev)
			switch {
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
