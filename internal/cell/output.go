package cell

import (
	"slices"
	"strings"

	"den/internal/vt"
)

// rowText returns the cells of a row in [from, to) as appendRow appends them.
func rowText(row vt.Row, from, to int) string { return string(appendRow(nil, row, from, to)) }

// appendRow appends the cells of a row in [from, to), with what the program
// wrote as blanks kept, and without what it never wrote at the end.
func appendRow(b []byte, row vt.Row, from, to int) []byte {
	begin := len(b)
	if from == 0 && to >= row.Len() {
		if b = row.AppendText(b); plainEnd(row, b[begin:]) {
			return b
		}
		b = b[:begin]
	}
	end := begin
	for col := from; col < min(to, row.Len()); col++ {
		if row.Width(col) == 0 {
			continue
		}
		n := len(b)
		if b = row.AppendCell(b, col); len(b) == n {
			b = append(b, ' ')
			continue
		}
		end = len(b)
	}
	return b[:end]
}

// plainEnd reports whether a row's text without its trailing blanks is all
// that was written: true for nearly every row, and quick to see where a
// character is a byte and a cell.
func plainEnd(row vt.Row, text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return len(text) == row.Len() || len(row.AppendCell(nil, len(text))) == 0
}

// Collector takes a cell's output from the emulator: rows that scrolled off
// as they go, because they cannot change any more, and the rest at the end.
type Collector struct {
	sink *Sink
	next int64 // the first row that was not taken, counted from the start
	col  int   // where in it the output begins
	line []byte
	echo *string  // what was typed: the first line, if the program echoes it
	more []string // and the lines behind it

	// An editor of several lines draws all of them again, at times more than
	// once, when one is entered. So the first lines are held back until it is
	// known which of them is the last that was typed.
	isPrompt func(string) bool // or nil: the program does not redraw
	held     [][]byte
	atPrompt bool // the next line is what stands behind the prompt, where the code was typed
}

// maxHeld is how many lines an editor may have drawn again.
const maxHeld = 32

// NewCollector begins at a place of the screen.
func NewCollector(sink *Sink, line int64, col int) *Collector {
	return &Collector{sink: sink, next: line, col: col}
}

// Scrolled takes the rows that left the screen. It must be called before more
// rows scroll off than the emulator keeps.
func (c *Collector) Scrolled(t *vt.Terminal) {
	if t.Modes().AltScreen {
		return
	}
	c.takeUntil(t, t.ScreenLine())
}

func (c *Collector) takeUntil(t *vt.Terminal, until int64) {
	for c.next = max(c.next, t.FirstLine()); c.next < until; c.next++ {
		row := t.Row(int(c.next - t.ScreenLine()))
		c.line = appendRow(c.line, row, c.col, row.Len())
		c.col = 0
		if !row.Wrapped() {
			c.flush()
		}
	}
}

func (c *Collector) flush() {
	if c.isPrompt != nil {
		c.hold()
		return
	}
	c.emit(c.line)
	c.line = c.line[:0]
}

func (c *Collector) emit(line []byte) {
	echo := c.echo
	c.echo = nil
	if echo == nil || !sameEcho(string(line), *echo) {
		c.sink.Line(line)
		return
	}
	if len(c.more) > 0 {
		c.echo, c.more = &c.more[0], c.more[1:]
	}
}

// sameEcho reports whether a line shows what was typed. A tab shows as blanks.
func sameEcho(line, typed string) bool {
	line = strings.TrimRight(line, " ")
	if strings.TrimRight(typed, " ") == line {
		return true
	}
	return strings.Contains(typed, "\t") && slices.Equal(strings.Fields(line), strings.Fields(typed))
}

// hold keeps a line until it is known whether it was drawn by the editor.
func (c *Collector) hold() {
	text := strings.TrimRight(string(c.line), " ")
	atPrompt := c.atPrompt
	c.atPrompt = false
	if atPrompt && text == "" {
		// The terminal echoed Enter while the editor did not look, at the
		// bottom of the screen: then the editor wrote over what it drew.
		c.line = c.line[:0]
		return
	}
	if before, ok := strings.CutSuffix(text, strings.TrimRight(*c.echo, " ")); ok && c.isPrompt(before) {
		c.held = nil // this one, and all before it
	} else {
		c.held = append(c.held, append([]byte(nil), c.line...))
	}
	c.line = c.line[:0]
	if len(c.held) > maxHeld {
		c.release()
	}
}

// release lets go of what was held: it was output.
func (c *Collector) release() {
	c.isPrompt = nil
	for _, line := range c.held {
		c.emit(line)
	}
	c.held = nil
}

// Expect says what the terminal or the program will echo: what of it stands in
// the first lines is left out.
func (c *Collector) Expect(typed ...string) {
	c.echo, c.more = &typed[0], typed[1:]
}

// ExpectRedrawn is Expect for a program whose editor draws all lines of its
// input again. isPrompt says whether a text is a prompt of it.
func (c *Collector) ExpectRedrawn(typed string, isPrompt func(string) bool) {
	c.Expect(typed)
	c.isPrompt, c.atPrompt = isPrompt, c.col > 0
}

// Above moves the beginning up: the program cleared the screen and writes
// where older text stood.
func (c *Collector) Above(line int64) {
	if line < c.next {
		c.next, c.col = line, 0
	}
}

// Finish takes what is on the screen before the given place. Text that the
// program left without a newline counts.
func (c *Collector) Finish(t *vt.Terminal, line int64, col int) {
	c.takeUntil(t, line)
	if c.next == line {
		row := t.Row(int(line - t.ScreenLine()))
		c.line = appendRow(c.line, row, c.col, col)
	}
	if len(c.line) > 0 {
		c.flush()
	}
	c.release()
}

// TakeTo takes what is before the given place. The line that is begun there
// goes on.
func (c *Collector) TakeTo(t *vt.Terminal, line int64, col int) {
	c.takeUntil(t, line)
	if c.next == line && col > c.col {
		row := t.Row(int(line - t.ScreenLine()))
		c.line = appendRow(c.line, row, c.col, col)
		c.col = col
	}
}

// GoOnAt says where the output goes on: the terminal has moved its rows.
func (c *Collector) GoOnAt(line int64, col int) { c.next, c.col = line, col }

// Peek returns what Finish would take, and takes nothing.
func (c *Collector) Peek(t *vt.Terminal, line int64, col int) string {
	copied := *c
	copied.sink = NewSink("")
	copied.line = append([]byte(nil), c.line...)
	copied.held = slices.Clone(c.held)
	copied.Finish(t, line, col)
	return string(copied.sink.mem)
}

// CollectorState is a collector as it crosses from one host binary to another.
type CollectorState struct {
	Next int64   `json:"next"`
	Col  int     `json:"col"`
	Line []byte  `json:"line,omitempty"`
	Echo *string `json:"echo,omitempty"`
	// More is what is echoed behind Echo.
	More []string `json:"more,omitempty"`
}

// State returns the collector's state.
func (c *Collector) State() CollectorState {
	c.release()
	return CollectorState{Next: c.next, Col: c.col, Line: c.line, Echo: c.echo, More: c.more}
}

// ResumeCollector goes on where another stopped.
func ResumeCollector(sink *Sink, s CollectorState) *Collector {
	return &Collector{sink: sink, next: s.Next, col: s.Col, line: s.Line, echo: s.Echo, more: s.More}
}
