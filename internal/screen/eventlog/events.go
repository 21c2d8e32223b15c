package eventlog

import (
	"io"
	"iter"
)

// Events yields the events with a number above after, without repaints, up to
// the current end of the log.
//
// Missing parts are yielded as a [*Damage] or [*Gap] (see [Missing]) and
// skipped. If after is 0, segments dropped from the begin of the log are not
// reported as a gap. Any other error is the last value.
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

// Play yields what a player shows: the terminal at the begin of the log, then
// the events, and the terminal again after each missing part. The terminal is
// two events marked Repaint: a resize, which means a fresh terminal of that
// size, and the output that paints it, if any. They have the number of the
// last event before them.
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
