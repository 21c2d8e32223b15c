package eventlog

import (
	"io"
	"iter"
)

// Events yields the events with a number above after, without repaints. It
// begins in the right segment and ends where the log ends now.
//
// What is missing is said and stepped over: a [*Damage], or a [*Gap] (see
// [Missing]). With after 0 the log begins where it begins, and segments
// dropped before that are no gap. Any other error is the last thing yielded.
func (l *Log) Events(after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := walker{log: l}
		defer w.close()
		if err := w.start(after); err != nil {
			yield(Event{}, err)
			return
		}
		last := after
		for {
			var ev Event
			err := w.next(&ev)
			switch {
			case err == io.EOF:
				return
			case err != nil:
				if !yield(Event{}, err) || !Missing(err) {
					return
				}
			case ev.Repaint || ev.Seq <= last:
			default:
				last = ev.Seq
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// Play yields what a player shows, from the beginning of what is kept: first
// the terminal as it was then, then the events. Behind everything missing it
// yields the terminal again. That is two events marked Repaint: a resize,
// which means a fresh terminal of that size, and the output that paints it, if
// there is any. They have the number of the last event before them.
func (l *Log) Play() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := walker{log: l}
		defer w.close()
		if err := w.start(0); err != nil {
			yield(Event{}, err)
			return
		}
		var last uint64
		stale := true // what is shown, if anything, is not what the next event changes
		for {
			var ev Event
			err := w.next(&ev)
			switch {
			case err != nil && err != io.EOF:
				stale = true
				if !yield(Event{}, err) || !Missing(err) {
					return
				}
				continue
			case stale && w.cur != nil && !w.skip: // the first line of a segment, or none yet
				stale = false
				if !yield(w.cur.size(), nil) {
					return
				}
			case err == io.EOF:
				return
			case ev.Repaint || ev.Seq <= last:
				continue
			}
			if err == io.EOF {
				return
			}
			last = ev.Seq
			if !yield(ev, nil) {
				return
			}
		}
	}
}
