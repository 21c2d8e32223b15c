package claude

import (
	"sync"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
)

// lookBack is how much of a transcript's end is read for how its last turn
// ended.
const lookBack = 1 << 20

// lastTurn follows how the last turn of a session ended.
type lastTurn struct {
	mu      sync.Mutex // guards the fields below, and is held while the file is read
	session string
	tail    *watch.Tail // or nil
	failed  string      // what Claude Code said of its error, "" for none
}

// apply takes a line in: a pure function of what was read before and of it.
func (t *lastTurn) apply(line []byte) {
	e, err := parseEntry(line)
	if err != nil || e.Sidechain || e.Meta {
		return // one line that cannot be read does not hide the others
	}
	text, isText := e.Message.Content.text()
	switch {
	case e.Type == "assistant" && e.APIError:
		t.failed = text
	case e.Type == "assistant", e.Type == "user" && isText:
		t.failed = ""
	}
}

// read returns why the last turn of a session failed, "" where it did not.
func (t *lastTurn) read(session string, find func() (string, error)) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tail == nil || t.session != session {
		path, err := find()
		if err != nil {
			return "", err
		}
		tail, err := watch.TailFrom(path, lookBack)
		if err != nil {
			return "", err
		}
		t.session, t.tail, t.failed = session, tail, ""
	}
	err := t.tail.Read(func() { t.failed = "" }, t.apply)
	return t.failed, err
}

// withFailure is the state of a session file, with the error that its last turn
// ended in: the file calls that idle.
func (s *Source) withFailure(f *sessionFile) conversation.State {
	state := f.state()
	if state.Activity != conversation.Ready {
		return state
	}
	// Best effort: a session without a transcript has had no turn.
	failed, err := s.last.read(f.SessionID, func() (string, error) { return s.transcriptOf(f) })
	if err == nil && failed != "" {
		state.Activity, state.Why = conversation.Broken, failed
	}
	return state
}
