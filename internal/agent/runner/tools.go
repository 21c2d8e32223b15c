package runner

import (
	"sync"

	"den/internal/agent/conversation"
)

// Bounds of a toolLog: entries, and bytes of what the tools got. The oldest go.
const (
	maxToolEntries = 4096
	maxToolBytes   = 1 << 20
)

// A toolLog keeps which tools the latest turns used. It is apart from the
// events, of which a single long turn has more than are kept.
type toolLog struct {
	mu      sync.Mutex  // guards the fields below
	entries []toolEntry // in order
	bytes   int
}

// toolEntry is a use of a tool, or the begin of a message's first attempt.
type toolEntry struct {
	message string
	use     *conversation.ToolUse // nil for the begin
}

func (e toolEntry) size() int {
	if e.use == nil {
		return 0
	}
	return len(e.use.Name) + len(e.use.Input)
}

// begin notes that the first attempt of a message begins.
func (l *toolLog) begin(message string) { l.add(message, nil) }

func (l *toolLog) add(message string, use *conversation.ToolUse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := toolEntry{message, use}
	l.entries, l.bytes = append(l.entries, e), l.bytes+e.size()
	for len(l.entries) > maxToolEntries || l.bytes > maxToolBytes {
		l.bytes -= l.entries[0].size()
		l.entries[0] = toolEntry{} // free what it points at
		l.entries = l.entries[1:]
	}
}

// of returns the tools that were used for a message, in all its attempts.
// complete means that none is missing: its begin is still kept.
func (l *toolLog) of(message string) (uses []conversation.ToolUse, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.message != message:
		case e.use == nil:
			complete = true
		default:
			uses = append(uses, *e.use)
		}
	}
	return uses, complete
}

// ToolsOf returns the tools that were used for a message, in order. complete is
// false where some may be missing: of a long turn, of one that was long ago, and
// of one that began before den was restarted.
func (r *Runner) ToolsOf(message string) (uses []conversation.ToolUse, complete bool) {
	return r.tools.of(message)
}
