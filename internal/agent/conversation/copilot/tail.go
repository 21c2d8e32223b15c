package copilot

import "den/internal/agent/conversation/watch"

// tail follows the events of a session.
type tail struct {
	watch.Tail
	model model
}

// update applies the lines that were added.
func (t *tail) update() error {
	return t.Read(func() { t.model = model{} }, func(line []byte) {
		if e, err := parseEvent(line); err == nil { // one line that cannot be read does not hide the others
			t.model.apply(e)
		}
	})
}
