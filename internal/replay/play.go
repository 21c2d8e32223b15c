package replay

import (
	"iter"

	"den/internal/eventlog"
	"den/internal/vt"
)

// A Step is an event and the terminal right after it. Both belong to the
// iterator, which changes them with its next step.
type Step struct {
	Event    eventlog.Event
	Terminal *vt.Terminal
}

// Play iterates over the whole log, event by event: for what shows a
// whole recording. What is missing is yielded as an error, with a zero Step,
// and stepped over (see [eventlog.Missing]); behind it the terminal is a fresh
// one, repainted. Any other error is the last thing yielded.
func Play(l *eventlog.Log, cfg vt.Config) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		var t *vt.Terminal
		for ev, err := range l.Play() {
			if err != nil {
				if !yield(Step{}, err) {
					return
				}
				continue
			}
			if cols, rows, ok := ev.Size(); ok && ev.Repaint {
				cfg.Cols, cfg.Rows = cols, rows
				t = vt.New(cfg)
			} else {
				Apply(t, ev) // the first event is always such a size
			}
			if !yield(Step{ev, t}, nil) {
				return
			}
		}
	}
}
