package host

import (
	"slices"
	"time"

	"den/internal/session/wire"
)

// awaited is what a wait for text knows of the command that could print it.
type awaited struct {
	wanted bool // to be told when it has ended
	ran    bool // when the wait began, or it had been fired and was over
}

// commandPause is how often a wait looks whether the command has ended.
const commandPause = 50 * time.Millisecond

// shorter returns the shorter of two pauses, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (h *Host) beginAwaited(w wire.Wait) awaited {
	if !w.ByCommand || w.Text == nil && w.Regex == nil {
		return awaited{}
	}
	c := h.core
	c.mu.Lock()
	runs, inputs := c.shell.Last == 'C' || c.shell.Pending() || c.shell.Last == 'P', c.Inputs
	c.mu.Unlock()
	return awaited{wanted: true, ran: runs || h.cells.current() != nil || h.cells.firedAndOver(inputs)}
}

// commandOver reports whether the wait still lacks its text, the command that it
// is about has ended, and nothing else runs in the session that could print: the
// shell has read all that was typed ahead, and waits for the next one. exit is its status, or nil where no shell tells.
func (h *Host) commandOver(a awaited, unmet []string) (exit *int, over bool) {
	lacks := slices.Contains(unmet, "text") || slices.Contains(unmet, "regex")
	if !a.wanted || !a.ran || !lacks || h.cells.current() != nil {
		return nil, false
	}
	c := h.core
	c.mu.Lock()
	shell, activity := c.shell, c.Activity
	c.mu.Unlock()
	if shell.Token == "" || !shell.AtPrompt() || shell.Inner {
		return nil, false
	}
	if waits, known := h.tty.Reads(h.manifest().PID); !waits || !known {
		return nil, false
	}
	if len(h.tree.Processes()) > 1 || h.input.more() || !h.tty.Drained() || c.lastActivity() != activity {
		return nil, false
	}
	return &shell.Exit, true
}

// firedAndOver reports whether the last cell has ended, nobody waited for it, and
// nothing was typed since.
func (cs *cells) firedAndOver(inputs int) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.active == nil && cs.unwatched > 0 && cs.unwatched == inputs+1
}
