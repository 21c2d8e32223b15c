package host

import (
	"bytes"
	"log"
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
	marked int         // rows until the screen shows none that only partRows keep
}

// passState is the state of a cellPass that survives an upgrade.
type passState struct {
	SentSeq uint64   `json:"sent_seq"`           // of the last output when the code was sent
	LineSeq uint64   `json:"line_seq,omitempty"` // and when the last line of it was typed
	Line    int64    `json:"line,omitempty"`     // of the screen, where that was
	Ends    int      `json:"ends"`               // that the shell told before
	Over    bool     `json:"over"`               // the shell said that the command ended
	TypedAt *typedAt `json:"typed_at,omitempty"` // or nil: where the code was typed, for a shell
	// EchoLeft is what is to come of the terminal's own echo of the line that was
	// typed, and nothing came before it. Only a shell without an editor is known to
	// leave that to the terminal.
	EchoLeft []byte `json:"echo_left,omitempty"`

	Limit cell.Limit `json:"limit,omitzero"`  // what the callers take of the output
	Alt   []string   `json:"alt,omitempty"`   // what the program left on the alternate screen
	Lost  uint64     `json:"lost,omitempty"`  // rows that were lost inside margins before the code was sent
	Lacks string     `json:"lacks,omitempty"` // what of the output was lost
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
	cols, rows := c.term.Size()
	for len(chunk) > 0 {
		n := partLen(chunk)
		if part := chunk[:n]; marksRows(part) {
			c.cell.marked = rows + partRows
		}
		if c.cell.marked > 0 {
			n = rowsLen(chunk[:n], partRows, cols)
		}
		if c.cell.hook != nil {
			if end := bytes.IndexAny(chunk[:n], "\r\n"); end >= 0 { // the hook's lines know where they begin
				n = end + 1
			}
		}
		echoed := c.cell.echoed(chunk[:n])
		if echoed > 0 {
			n = echoed
		}
		if c.cell.marked > 0 {
			c.cell.marked -= bytes.Count(chunk[:n], newline)
		}
		c.term.Write(chunk[:n]) // never fails
		if echoed > 0 && len(c.cell.EchoLeft) == 0 {
			c.beginBehindEchoLocked()
		}
		if hook := c.cell.hook; hook != nil {
			hook.pushLocked(chunk[:n], cursorPlace(c.term))
		}
		chunk = chunk[n:]
		c.marksLocked()
		c.cell.follow(c.term, false)
	}
	c.cell.moved.Set()
}

// echoed takes the begin of a part that is the terminal's echo.
func (p *cellPass) echoed(part []byte) (n int) {
	if n = min(len(p.EchoLeft), len(part)); n == 0 {
		return 0
	}
	if !bytes.Equal(part[:n], p.EchoLeft[:n]) {
		p.EchoLeft = nil // it is found on the screen, if it is there
		return 0
	}
	p.EchoLeft = p.EchoLeft[n:]
	return n
}

// beginBehindEchoLocked begins the output of the line that was typed: its echo is
// complete, and nothing else was printed. What comes may be written over the echo.
func (c *core) beginBehindEchoLocked() {
	at := cursorPlace(c.term)
	left := c.coverInputLocked(vt.Mark{Line: at.Line, Col: at.Col})
	p := c.cell
	p.take = cell.NewCollector(p.sink, at.Line, at.Col, p.SentSeq)
	p.take.LeftUpTo(left)
}

// beginMark begins the mark by which a shell says that a command begins.
var beginMark = []byte("]133;C;")

// partRows bounds the rows of a part while the screen may show rows with tabs, or
// of a raw terminal: of the scrollback only the newest rows tell what was there.
const partRows = 12

var newline = []byte{'\n'}

// marksRows reports whether a part makes such rows.
func marksRows(p []byte) bool {
	i := bytes.IndexByte(p, '\n')
	return i == 0 || i > 0 && p[i-1] != '\r' || bytes.IndexByte(p, '\t') >= 0
}

// partLen returns the length of the next part. A part ends after a sequence
// that may move the cursor up, so that the cell sees the new position, and after
// a mark of the shell, so that it sees what was there before.
func partLen(p []byte) int {
	p = p[:min(len(p), cellPart)]
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], 0x1b)
		if i < 0 {
			return len(p)
		}
		at += i + 1
		if at > 1 && erasesLines(p[at:]) { // those of before are taken first
			return at - 1
		}
		if at < len(p) && (p[at] == 'c' || p[at] == 'M') { // a full reset, a line up
			return at + 1
		}
		if bytes.HasPrefix(p[at:], beginMark) {
			if n := stringEnd(p[at+len(beginMark):]); n >= 0 {
				return at + len(beginMark) + n
			}
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

// erasesLines reports whether a sequence behind its escape erases lines that have
// left the screen.
func erasesLines(p []byte) bool {
	return bytes.HasPrefix(p, []byte("c")) || bytes.HasPrefix(p, []byte("[3J"))
}

// rowsLen returns the length of the begin of p that takes at most so many rows.
func rowsLen(p []byte, rows, cols int) int {
	at := 0
	for ; rows > 0 && at < len(p); rows-- {
		n := min(cols, len(p)-at)
		if i := bytes.IndexByte(p[at:at+n], '\n'); i >= 0 {
			n = i + 1
		}
		at += n
	}
	return at
}

// marksLocked processes the shell marks in the bytes fed last.
func (c *core) marksLocked() {
	for _, m := range c.term.TakeMarks() {
		before := c.shell.Last
		if !c.shell.Take(m) {
			continue
		}
		if m.Kind == 'A' || m.Kind == 'D' {
			c.askerGoneLocked(m)
		}
		switch m.Kind {
		case 'Z':
			c.Stray.Add(false, false, c.shell.Ends)
		case 'B':
			c.shell.Shown = cell.TextLeft(c.term, m.Line, m.Col)
			c.editorAsked = false
			c.Echo.promptAt(c.term, place{Line: m.Line, Col: m.Col})
		case 'C', 'D':
			c.Echo.promptOver(c.term)
		}
		if m.Kind == 'C' {
			c.Typed = c.cell == nil
		}
		if c.cell == nil {
			continue
		}
		if m.Kind == 'C' {
			c.restoreLocked()
		}
		switch {
		case m.Kind == 'C' && (c.cell.take == nil || c.shell.Start == m):
			left := c.coverInputLocked(m)
			c.cell.begin(m, before, left)
		case c.cell.hook != nil: // it tells of the end
		case m.Kind != 'D' || c.shell.Ends <= c.cell.Ends:
		case !c.cell.Over, c.shell.Refused && (!c.Foreign || !c.Stray.Pending):
			c.cell.end(c.term, m)
		case c.shell.Refused && c.cell.Lacks == "": // of a line that somebody else typed, most likely
			c.cell.Lacks = "what follows a prompt that the command may have printed itself"
		}
	}
}

// olderText is the number of what stood behind the cursor when a command began. The
// echo of an answer, which may follow in the same row, has the number 0.
const olderText = 1

// coverInputLocked notes that what stands between the shell's prompt and a
// command's output was typed: it is no output, wherever the cursor goes. It returns
// the column in the row of the mark up to which older text stands.
func (c *core) coverInputLocked(m vt.Mark) (left int) {
	cols, _ := c.term.Size()
	left = m.Col
	if row := c.term.Row(int(m.Line - c.term.ScreenLine())); len(row.AppendWritten(nil, m.Col, cols)) > 0 {
		left = cols // the editor has left something behind the cursor
		c.term.Restamp(int(m.Line-c.term.ScreenLine()), m.Col, cols, olderText)
	}
	top, from := c.term.ScreenLine(), c.shell.Input
	for line := max(top, from.Line); line <= m.Line; line++ {
		begin, end := 0, cols
		if line == from.Line && !wroteAfter(c.term.Row(int(line-top)), from.Col, c.cell.SentSeq) {
			begin = from.Col
		} // else an editor has scrolled its line sideways, over the prompt
		if line == m.Line {
			end = m.Col
		}
		if begin < end {
			c.term.Restamp(int(line-top), begin, end, 0)
		}
	}
	return left
}

// wroteAfter reports whether an event after since wrote to the begin of a row.
func wroteAfter(row vt.Row, to int, since uint64) bool {
	for col := range min(to, row.Len()) {
		if row.Seq(col) > since {
			return true
		}
	}
	return false
}

// begin begins the output of a command. A shell that got several commands on one
// line shows no prompt between them.
func (p *cellPass) begin(m vt.Mark, before byte, left int) {
	if p.Over && before != 'D' {
		return // somebody else typed it at the prompt
	}
	if p.take != nil {
		p.take.Flush()
	}
	p.Over = false
	p.take = cell.NewCollector(p.sink, m.Line, m.Col, p.SentSeq)
	p.take.LeftUpTo(left)
}

// end takes the output of a command that has ended, as far as is known now: what
// printed the mark may have been the command itself (it shows the prompt), and
// goes on.
func (p *cellPass) end(term *vt.Terminal, m vt.Mark) {
	p.Over = true
	if at := p.TypedAt; p.take == nil && at != nil {
		// The shell did not take it for a command (an error of syntax): what it
		// says of it stands behind the echo.
		p.take = cell.NewCollector(p.sink, at.Line, at.Col, p.SentSeq)
		p.take.Expect(at.Code...)
	}
	switch {
	case p.take == nil:
	case term.Modes().AltScreen: // what stands there is no part of the other screen
		p.Alt = []string{}
		if text := strings.TrimRight(screen.Text(term), "\n "); text != "" {
			p.Alt = strings.Split(text, "\n")
		}
	default:
		p.take.Above(m.Line)
		p.take.TakeShown(term, m.Line, m.Col)
	}
	if term.LostRows() > p.Lost && p.Lacks == "" && !term.Modes().AltScreen {
		p.Lacks = "lines that scrolled away inside margins"
	}
}

// leftAlt takes what a program left on the alternate screen, when the main screen
// is shown again.
func (p *cellPass) leftAlt(term *vt.Terminal) {
	if p == nil || p.Alt == nil || p.take == nil {
		return
	}
	p.take.TakeShown(term, term.ScreenLine()+int64(term.Cursor().Row), term.Cursor().Col)
	p.take.Flush()
	for _, line := range p.Alt {
		p.sink.Line([]byte(line))
	}
	if len(p.Alt) > 0 && p.Lacks == "" {
		p.Lacks = "what is no more on the alternate screen, which the program did not leave"
	}
	p.Alt = nil
}

// stayedOnAlt notes that a program which goes on is on the alternate screen: what
// scrolled there is nowhere.
func (p *cellPass) stayedOnAlt(term *vt.Terminal) {
	if p.Lacks == "" && term.Modes().AltScreen && term.LostRows() > p.Lost {
		p.Lacks = "lines that scrolled away on the alternate screen, which the program did not leave"
	}
}

// follow collects the rows that scrolled off the screen: all of them, or those of
// which the hook, if there is one, has seen the end.
func (p *cellPass) follow(term *vt.Terminal, all bool) {
	if p.take == nil || term.Modes().AltScreen {
		return
	}
	if p.Over {
		if term.ScreenLine()-p.take.Next() < Scrollback/2 {
			return
		}
		p.Over = false // it goes on: what printed the mark was not the shell
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
		p.take = cell.NewCollector(p.sink, o.Line, o.Left.Col, p.SentSeq)
	}
}

// outputSoFar returns the cell's output up to now, in the output fields of a
// result. Collection is not affected.
func (r *running) outputSoFar() (now cell.Result) {
	c, p := r.cells.h.core, r.pass
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := ""
	switch {
	case p.take == nil:
	case p.Over:
		rest = p.take.Pending()
	case c.term.Modes().AltScreen: // all of it is the program's
		rest = strings.TrimRight(screen.Text(c.term), "\n ")
	default:
		cur := c.term.Cursor()
		rest = p.take.Peek(c.term, c.term.ScreenLine()+int64(cur.Row), cur.Col)
	}
	if err := p.sink.Progress(&now, rest, p.Limit); err != nil {
		log.Printf("keep a cell's output: %v", err)
	}
	return now
}
