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
