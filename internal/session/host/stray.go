package host

import (
	"regexp"
	"sync"
	"time"

	"den/internal/base/ident"
	"den/internal/session/cell"
)

// inputBlankLocked reports whether the cursor stands where the shell's input
// begins, with nothing behind it on the screen.
func (c *core) inputBlankLocked() bool {
	at, cur := c.shell.Input, c.term.Cursor()
	line := c.term.ScreenLine() + int64(cur.Row)
	return at.Line == line && at.Col == cur.Col && cell.NothingBehindCursor(c.term)
}

// cursorReport is the reply to a question where the cursor is.
var cursorReport = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\x1b\[[0-9]+;[0-9]+R$`) })

// isEditorsLocked reports whether the terminal replied to the line editor of
// sh, which takes the reply: that of busybox asks once behind each prompt where
// the cursor is. No other shell of this kind has an editor, and the terminal
// shows a reply that no editor takes.
func (c *core) isEditorsLocked(replies []byte) bool {
	return c.shell.Silent && c.shell.Last == 'B' && !c.editorAsked && c.inputBlankLocked() && cursorReport().Match(replies)
}

// marksToken returns the token of the session's marks. A session whose program
// is no shell with marks gets one: whatever its program is, it is not reading
// commands itself.
func (c *core) marksToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shell.Token == "" {
		c.shell = cell.ShellMarks{Token: ident.New(time.Now()), Last: 'C', Began: true}
	}
	return c.shell.Token
}

// clearing returns what matters to the keys that empty a shell's input: whether
// it is one inside the session's program, and a paste was begun and not ended.
func (c *core) clearing() (inner, pasting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shell.Inner, c.Line.Pasting
}

// shellReads reports whether no command of the shell runs.
func (c *core) shellReads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shell.Last != 'C'
}

// noteSignal records that a signal was sent. A shell at its prompt discards its
// line when it gets to handle it, with what a cell has typed by then: the next
// cell first brings it to a new prompt, as after stray input. It does so when
// the shell is idle: a shell that is still drawing the prompt which the signal
// caused may handle Ctrl-C only with the next key (zsh).
func (c *core) noteSignal(toShell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Foreign = true
	c.happenedLocked()
	if toShell {
		c.Stray.Add(false, c.shell.Ends)
	}
}

// noteConsumed records that the program which the shell runs has read all
// input, so that none of it is left for the shell. It holds if the terminal's
// queue is empty while the shell has not reported the command's end. Half a
// line that the terminal still edits is in no queue.
func (h *Host) noteConsumed() {
	c := h.core
	c.mu.Lock()
	stray, runs := c.Stray, c.shell.Last == 'C'
	c.mu.Unlock()
	if !stray.Pending || !runs || h.input.more() {
		return
	}
	if _, canonical, err := h.tty.Echo(); err != nil || canonical && !stray.Entered {
		return
	}
	if !h.tty.Drained() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shell.Last == 'C' { // all output is processed: there was no end before
		c.Stray.Consumed(stray.Count)
	}
}
