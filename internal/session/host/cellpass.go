package host

import (
	"bytes"
	"strings"

	"den/internal/base/wake"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// cellPass collects the output of the active cell during passes. core.mu guards
// it.
type cellPass struct {
	passState
	sink *cell.Sink
	take *cell.Collector // or nil before the output began
	hook *hook           // or nil
	// prompt is the program's, if the cell's end is told by no marks; or "".
	prompt string
	moved  wake.Signal // there was output
}

// passState is the state of a cellPass that survives an upgrade.
type passState struct {
	SentSeq uint64   `json:"sent_seq"`           // of the last output when the code was sent
	LineSeq uint64   `json:"line_seq,omitempty"` // and when the last line of it was typed
	Ends    int      `json:"ends"`               // that the shell told before
	Over    bool     `json:"over"`               // the shell said that the command ended
	TypedAt *typedAt `json:"typed_at,omitempty"` // or nil: where the code was typed, for a shell
}

// typedAt is a position on the screen and the code that was typed there.
type typedAt struct {
	Line int64    `json:"line"`
	Col  int      `json:"col"`
	Code []string `json:"code"`
}

// cellPart bounds how much output the emulator gets at once while a cell is
// active, so that no row leaves the scrollback before it was collected.
const cellPart = 4 << 10

// feedLocked feeds output to the emulator, in parts while a cell is active.
func (c *core) feedLocked(chunk []byte) {
	if c.cell == nil {
		c.term.Write(chunk) // never fails
		c.marksLocked()
		return
	}
	for len(chunk) > 0 {
		n := partLen(chunk)
		if c.cell.hook != nil {
			if end := bytes.IndexAny(chunk[:n], "\r\n"); end >= 0 { // the hook's lines know where they begin
				n = end + 1
			}
		}
		c.term.Write(chunk[:n]) // never fails
		if hook := c.cell.hook; hook != nil {
			hook.pushLocked(chunk[:n], cursorPlace(c.term))
		}
		chunk = chunk[n:]
		c.marksLocked()
		c.cell.follow(c.term, false)
	}
	c.cell.moved.Set()
}

// partLen returns the length of the next part. A part ends after a sequence
// that may move the cursor up, so that the cell sees the new position.
func partLen(p []byte) int {
	p = p[:min(len(p), cellPart)]
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], 0x1b)
		if i < 0 {
			return len(p)
		}
		at += i + 1
		if at < len(p) && (p[at] == 'c' || p[at] == 'M') { // a full reset, a line up
			return at + 1
		}
		if at >= len(p) || p[at] != '[' {
			continue
		}
		end := at + 1
		for end < len(p) && (p[end] >= '0' && p[end] <= '?') {
			end++
		}
		if end < len(p) && strings.IndexByte("AFHJdf", p[end]) >= 0 {
			return end + 1
		}
	}
}

// marksLocked processes the shell marks in the bytes fed last.
func (c *core) marksLocked() {
	for _, m := range c.term.TakeMarks() {
		if !c.shell.Take(m) {
			continue
		}
		if m.Kind == 'A' || m.Kind == 'D' {
			c.askerGoneLocked(m)
		}
		switch m.Kind {
		case 'Z':
			c.Stray.Add(false, c.shell.Ends)
		case 'B':
			c.shell.Shown = cell.TextLeft(c.term, m.Line, m.Col)
			c.editorAsked = false
			c.Echo.promptAt(c.term, place{Line: m.Line, Col: m.Col})
		case 'C', 'D':
			c.Echo.promptOver(c.term)
		}
		if c.cell == nil {
			continue
		}
		switch {
		case m.Kind == 'C' && (c.cell.take == nil || c.shell.Start == m):
			c.cell.take = cell.NewCollector(c.cell.sink, m.Line, m.Col)
		case c.cell.hook != nil: // it tells of the end
		case m.Kind == 'D' && c.shell.Ends > c.cell.Ends && !c.cell.Over:
			c.cell.Over = true
			if at := c.cell.TypedAt; c.cell.take == nil && at != nil {
				// The shell did not take it for a command (an error of syntax): what
				// it says of it stands behind the echo.
				c.cell.take = cell.NewCollector(c.cell.sink, at.Line, at.Col)
				c.cell.take.Expect(at.Code...)
			}
			if c.cell.take != nil {
				c.cell.take.Above(m.Line)
				c.cell.take.Finish(c.term, m.Line, m.Col)
			}
		}
	}
}

// follow collects the rows that scrolled off the screen: all of them, or those of
// which the hook, if there is one, has seen the end.
func (p *cellPass) follow(term *vt.Terminal, all bool) {
	if p.take == nil || p.Over || term.Modes().AltScreen {
		return
	}
	p.take.Above(term.ScreenLine() + int64(term.Cursor().Row))
	before := term.ScreenLine()
	if p.hook != nil && !all {
		before = max(p.hook.readTo.Load(), before-hookRows)
	}
	p.take.Scrolled(term, before)
}

// resized resizes the terminal, which rewraps lines. The active cell's output
// above the cursor is collected before, and collection continues at the cursor
// afterwards. p may be nil: no cell is active.
func (p *cellPass) resized(term *vt.Terminal, resize func()) {
	if p == nil || p.take == nil || p.Over || term.Modes().AltScreen {
		resize()
		return
	}
	at := func() (line int64, col int) {
		cur := term.Cursor()
		return term.ScreenLine() + int64(cur.Row), cur.Col
	}
	line, col := at()
	p.take.TakeTo(term, line, col)
	resize()
	p.take.ContinueAt(at())
}

// take collects or drops the output on the screen, as decided.
func (r *running) take(what cell.Take, o cell.Observed) {
	if what.What == cell.Nothing {
		return
	}
	c, p := r.cells.h.core, r.pass
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.take == nil:
	case what.What == cell.Drop:
		p.take = nil
	default:
		p.take.Finish(c.term, what.Line, what.Col)
		p.take = cell.NewCollector(p.sink, o.Line, o.Left.Col)
	}
}

// outputSoFar returns the cell's output up to now. Collection is not affected.
func (r *running) outputSoFar() string {
	c, p := r.cells.h.core, r.pass
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.take == nil || p.Over {
		return p.sink.SoFar("")
	}
	if c.term.Modes().AltScreen { // all of it is the program's
		return p.sink.SoFar(strings.TrimRight(screen.Text(c.term), "\n "))
	}
	cur := c.term.Cursor()
	rest := p.take.Peek(c.term, c.term.ScreenLine()+int64(cur.Row), cur.Col)
	return p.sink.SoFar(rest)
}
