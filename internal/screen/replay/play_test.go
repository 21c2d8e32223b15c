package replay_test

import (
	"iter"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// step is an event and the terminal right after it. Both belong to the
// iterator, which changes them with its next step.
type step struct {
	Event    eventlog.Event
	Terminal *vt.Terminal
}

// play iterates over the whole log, event by event: for what shows a
// whole recording. What is missing is yielded as an error, with a zero step,
// and stepped over (see [eventlog.Missing]); behind it the terminal is a fresh
// one, repainted. Any other error is the last thing yielded.
func play(l *eventlog.Log, cfg vt.Config) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		var t *vt.Terminal
		for ev, err := range l.Play() {
			if err != nil {
				if !yield(step{}, err) {
					return
				}
				continue
			}
			if cols, rows, ok := ev.Size(); ok && ev.Repaint {
				cfg.Cols, cfg.Rows = cols, rows
				t = vt.New(cfg)
			} else {
				replay.Apply(t, ev) // the first event is always such a size
			}
			if !yield(step{ev, t}, nil) {
				return
			}
		}
	}
}
