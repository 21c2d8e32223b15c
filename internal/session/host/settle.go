package host

import (
	"bytes"
	"log"
	"slices"

	"den/internal/process/pty"
)

// endMark begins the mark by which a shell says that a command has ended.
var endMark = []byte("\x1b]133;D;")

// maxEndMark bounds what is kept of a mark that is not complete.
const maxEndMark = 256

// commandEnd returns the length of the begin of a chunk up to a shell's mark that
// says that a command has ended, or of all of it. What comes behind the mark is
// the shell's: it must not be drawn before the terminal is settled.
func (c *core) commandEnd(chunk []byte) (n int, ended bool) {
	if c.shell.Token == "" {
		return len(chunk), false
	}
	p, before := chunk, len(c.markBegun)
	if before > 0 {
		p, c.markBegun = append(c.markBegun, chunk...), nil
	}
	for at := 0; ; {
		i := bytes.Index(p[at:], endMark)
		if i < 0 {
			break
		}
		at += i
		end := stringEnd(p[at+len(endMark):])
		if end < 0 {
			c.keepBegun(p[at:])
			return len(chunk), false
		}
		end += at + len(endMark)
		if end > before && bytes.Contains(p[at:end], []byte(c.shell.Token)) {
			return end - before, true
		}
		at = end
	}
	for n := min(len(endMark)-1, len(p)); n > 0; n-- {
		if bytes.HasSuffix(p, endMark[:n]) {
			c.keepBegun(p[len(p)-n:])
			break
		}
	}
	return len(chunk), false
}

func (c *core) keepBegun(mark []byte) {
	if len(mark) <= maxEndMark {
		c.markBegun = bytes.Clone(mark)
	}
}

// stringEnd returns the length of a control string with its end, or -1 where it
// goes on.
func stringEnd(p []byte) int {
	i := bytes.IndexAny(p, "\a\x1b")
	switch {
	case i < 0 || p[i] == 0x1b && i+1 == len(p):
		return -1
	case p[i] == 0x1b && p[i+1] == '\\':
		return i + 2
	}
	return i + 1
}

// settlings bounds how often the terminal is looked at: what the main screen
// shows is known when it is shown, and where the cursor is then.
const settlings = 3

// settleLocked undoes what a command has left behind of its use of the terminal,
// before the shell shows its prompt: a full-screen program that was killed, for
// example, leaves its screen, its margins and its keys. The bytes for it are
// output like the program's, so that a recording, and terminals that are
// attached, show the same.
func (c *core) settleLocked() {
	c.noteModesLocked()
	for range settlings {
		settling := c.term.Settling()
		if settling == nil {
			break
		}
		c.outputLocked(settling)
		if !c.term.Modes().AltScreen {
			c.cell.leftAlt(c.term)
		}
	}
}

// leftModes are the modes in which a command left the kernel's side of the
// terminal. A shell with a line editor brings them back for the next command,
// and only then they can be mended.
type leftModes struct {
	known  bool
	as     pty.Settings   // when the command ended, or a little later
	mended *pty.Settings  // or nil: for the next command
	seen   []pty.Settings // while they were not: of the shell and of its editor
	cr     bool           // the output so far ends with a carriage return
}

// maxSeen bounds the modes that are remembered: two are usual.
const maxSeen = 4

// noteModesLocked looks at the terminal's modes when a command has ended. A shell
// without an editor needs them as they are.
func (c *core) noteModesLocked() {
	before := c.left
	c.left = leftModes{seen: before.seen}
	if c.tty == nil || c.shell.Inner && !c.shell.Inquiry.Local {
		return
	}
	now, err := c.tty.Settings()
	if err != nil {
		return // it is about to end
	}
	c.left.known, c.left.as = true, now
	if before.mended != nil && now.SameOutput(*before.mended) {
		c.left.as = before.as // the shell may bring it back once more
	}
	if c.shell.NoEditor() {
		c.restoreLocked()
	}
}

// restoreLocked makes the terminal ready for lines where a command left it raw or
// without echo, and nobody has changed that since.
func (c *core) restoreLocked() {
	if l := &c.left; !l.known || l.as.ForLines() || !l.as.LeftRaw() && !c.shell.NoEditor() {
		return
	}
	before, err := c.tty.Settings()
	if err == nil && before.ForLines() { // the shell, or a program, has seen to it
		c.left.known = false
		return
	}
	now, err := c.tty.RestoreLines(c.left.as)
	switch {
	case err != nil:
		log.Print(err)
	case now.ForLines():
		c.left.mended = &now
	}
}

// newlinesLocked translates newlines as the terminal did before a command left it
// raw, until it does so again or another program decides.
func (c *core) newlinesLocked(chunk []byte) []byte {
	if !c.left.known || c.left.as.TranslatesNewlines() {
		return chunk
	}
	now, err := c.tty.Settings()
	l := &c.left
	switch seen := slices.Contains(l.seen, now); {
	case err != nil, l.mended == nil && now.TranslatesNewlines(), l.mended != nil && !seen && !now.SameOutput(*l.mended):
		return chunk
	case l.mended == nil && !seen:
		l.seen = append(l.seen[max(0, len(l.seen)+1-maxSeen):], now)
	}
	translated := make([]byte, 0, len(chunk)+16)
	for _, b := range chunk {
		if b == '\n' && !c.left.cr {
			translated = append(translated, '\r')
		}
		translated = append(translated, b)
		c.left.cr = b == '\r'
	}
	return translated
}
