package cell

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"den/internal/screen/vt"
)

// rowText returns what the program wrote to the cells [from, to).
func rowText(row vt.Row, from, to int) string { return string(row.AppendWritten(nil, from, to)) }

// Collector collects a cell's output from the emulator: rows when they scroll
// off the screen, because they can no longer change, and the rest at the end.
type Collector struct {
	sink  *Sink
	state CollectorState
}

// CollectorState is the state of a Collector that survives an upgrade.
type CollectorState struct {
	Next int64  `json:"next"` // the first row that was not taken, counted from the start
	Col  int    `json:"col"`  // where in it the output begins
	Line []byte `json:"line,omitempty"`

	// Of the rows above Begin, where the output began, only what was written
	// after event Since is output.
	Begin int64  `json:"begin,omitempty"`
	Left  int    `json:"left,omitempty"` // of it, the columns where older text stands
	Since uint64 `json:"since,omitempty"`
	Rose  bool   `json:"rose,omitempty"` // there was some

	Echo *string  `json:"echo,omitempty"` // what was typed: the first line, if the program echoes it
	More []string `json:"more,omitempty"` // and the lines behind it
	// Begun are rows that the begin of the echo fills: an editor that takes the
	// terminal for less wide goes to the next row early.
	Begun [][]byte `json:"begun,omitempty"`

	// A multi-line editor redraws all lines, possibly several times, when one
	// is entered. The first lines are held back until it is known which of
	// them is the last one that was typed.
	Redraws  bool     `json:"redraws,omitempty"`
	Prompt   string   `json:"prompt,omitempty"` // of the program that redraws
	Lines    []string `json:"lines,omitempty"`  // of all of the code
	Held     [][]byte `json:"held,omitempty"`
	AtPrompt bool     `json:"at_prompt,omitempty"` // the next line is what stands behind the prompt, where the code was typed
}

// maxHeld bounds the lines that are held back, maxPart how much of a line is in
// memory.
const (
	maxHeld = 32
	maxPart = 64 << 10
)

// NewCollector returns a Collector that begins at a position on the screen. What
// event since and those before it wrote above is no output.
func NewCollector(sink *Sink, line int64, col int, since uint64) *Collector {
	return &Collector{sink: sink, state: CollectorState{Next: line, Col: col, Begin: line, Left: col, Since: since}}
}

// LeftUpTo says that older text stands in the row of the begin up to a column: an
// editor may have left it behind the cursor.
func (c *Collector) LeftUpTo(col int) { c.state.Left = max(c.state.Left, col) }

// Scrolled collects the rows before a line that left the screen. It must be
// called before more rows scroll off than the emulator keeps.
func (c *Collector) Scrolled(t *vt.Terminal, before int64) {
	if t.Modes().AltScreen {
		return
	}
	c.takeUntil(t, min(before, t.ScreenLine()))
}

func (c *Collector) takeUntil(t *vt.Terminal, until int64) {
	for c.state.Next = max(c.state.Next, t.FirstLine()); c.state.Next < until; c.state.Next++ {
		row := t.Row(int(c.state.Next - t.ScreenLine()))
		if c.state.Next < c.state.Begin && !c.state.Rose {
			if !c.wrote(t, c.state.Next) {
				continue // the cursor moved over older text
			}
			c.state.Rose = true
		}
		c.add(t, row.Len())
		c.state.Col = 0
		switch {
		case !row.Wrapped():
			c.flush()
		case len(c.state.Line) > maxPart && !c.state.Redraws && c.state.Echo == nil:
			c.sink.Part(c.state.Line)
			c.state.Line = c.state.Line[:0]
		}
	}
}

// add takes what the next row has up to a column.
func (c *Collector) add(t *vt.Terminal, to int) {
	row, from := t.Row(int(c.state.Next-t.ScreenLine())), c.state.Col
	old := 0 // columns with older text
	switch {
	case c.state.Next < c.state.Begin:
		old = to
	case c.state.Next == c.state.Begin:
		old = min(c.state.Left, to)
	}
	if from < old {
		c.state.Line = row.AppendPrinted(c.state.Line, from, old, c.state.Since, c.state.Next == c.state.Begin)
		from = old
	}
	if from < to || old == 0 {
		c.state.Line = row.AppendPrinted(c.state.Line, from, to, 0, false)
	}
}

func (c *Collector) flush() {
	if c.state.Next < c.state.Begin { // above the echo
		c.sink.Line(c.state.Line)
		c.state.Line = c.state.Line[:0]
		return
	}
	if c.state.Redraws {
		c.hold()
		return
	}
	c.emit(c.state.Line)
	c.state.Line = c.state.Line[:0]
}

func (c *Collector) emit(line []byte) {
	echo := c.state.Echo
	c.state.Echo = nil
	if echo == nil {
		c.sink.Line(line)
		return
	}
	if sameEcho(string(line), *echo) {
		c.state.Begun = nil
		if len(c.state.More) > 0 {
			c.state.Echo, c.state.More = &c.state.More[0], c.state.More[1:]
		}
		return
	}
	if rest, ok := cutEcho(*echo, string(line)); ok && len(line) > 0 {
		c.state.Begun, c.state.Echo = append(c.state.Begun, slices.Clone(line)), &rest
		return
	}
	c.noEcho()
	c.sink.Line(line)
}

// noEcho notes that what was typed is not found: what looked like its begin is
// output.
func (c *Collector) noEcho() {
	c.sink.state.Unechoed = true
	for _, line := range c.state.Begun {
		c.sink.Line(line)
	}
	c.state.Begun, c.state.Echo = nil, nil
}

// sameEcho reports whether a line is the echo of typed. A tab is echoed as
// blanks.
func sameEcho(line, typed string) bool {
	line = strings.TrimRight(line, " ")
	if rest, ok := cutEcho(typed, line); ok && strings.Trim(rest, " ") == "" {
		return true
	}
	return strings.Contains(typed, "\t") && slices.Equal(strings.Fields(line), strings.Fields(typed))
}

// cutEcho returns what of typed is behind its begin. An editor may show ? for a
// character that it does not know.
func cutEcho(typed, begin string) (rest string, ok bool) {
	for _, shown := range begin {
		r, n := utf8.DecodeRuneInString(typed)
		if n == 0 || r != shown && (shown != '?' || r < utf8.RuneSelf) {
			return "", false
		}
		typed = typed[n:]
	}
	return typed, true
}

// hold keeps a line back until it is known whether the editor drew it.
func (c *Collector) hold() {
	text := strings.TrimRight(string(c.state.Line), " ")
	atPrompt := c.state.AtPrompt
	c.state.AtPrompt = false
	if atPrompt && text == "" {
		// The terminal echoed Enter while the editor did not look, at the
		// bottom of the screen: then the editor wrote over what it drew.
		c.state.Line = c.state.Line[:0]
		return
	}
	before, ok := strings.CutSuffix(text, strings.TrimRight(*c.state.Echo, " "))
	switch {
	case ok && c.isPrompt(before):
		c.state.Held = nil // this one, and all before it
	case c.isLineBefore(text): // where the terminal echoed Enter as above, the result is written over the last one
	default:
		c.state.Held = append(c.state.Held, append([]byte(nil), c.state.Line...))
	}
	c.state.Line = c.state.Line[:0]
	if len(c.state.Held) > maxHeld {
		c.release()
	}
}

// release emits the held lines: they were output.
func (c *Collector) release() {
	c.state.Redraws = false
	for _, line := range c.state.Held {
		c.emit(line)
	}
	c.state.Held = nil
}

// Expect announces the echo of typed lines. It is left out of the first lines.
func (c *Collector) Expect(typed ...string) {
	c.state.Echo, c.state.More = &typed[0], typed[1:]
}

// ExpectRedrawn is Expect for a program whose editor redraws all lines of its
// input, each after its prompt. lines are those of the code.
func (c *Collector) ExpectRedrawn(typed, prompt string, lines ...string) {
	c.Expect(typed)
	c.state.Redraws, c.state.Prompt, c.state.AtPrompt, c.state.Lines = true, prompt, c.state.Col > 0, lines
	c.state.Begin, c.state.Left = 0, 0 // it draws what was typed above, too
}

// isLineBefore reports whether text is a line of the code after the program's
// prompt, or after one that differs in its end and in digits only.
func (c *Collector) isLineBefore(text string) bool {
	return slices.ContainsFunc(c.state.Lines, func(line string) bool {
		before, ok := strings.CutSuffix(text, strings.TrimRight(line, " "))
		return ok && line != "" && SamePrompt(withoutEnd(before), withoutEnd(c.state.Prompt))
	})
}

// withoutEnd removes the end of a prompt, by which it tells what is open.
func withoutEnd(prompt string) string { return strings.TrimRight(prompt, " >*/]`\"'") }

// isPrompt reports whether text is a prompt of a program that redraws.
func (c *Collector) isPrompt(text string) bool {
	return SamePrompt(text, c.state.Prompt) || IsContinuation(text, c.state.Prompt)
}

// Above moves the begin of the output up to line: the program cleared the
// screen and writes over older text.
func (c *Collector) Above(line int64) {
	if line < c.state.Next {
		c.state.Next, c.state.Col = line, 0
	}
}

// Finish collects what is on the screen before the given position, including
// an incomplete last line.
func (c *Collector) Finish(t *vt.Terminal, line int64, col int) {
	c.takeUntil(t, line)
	if c.state.Next == line {
		c.add(t, col)
	}
	c.Flush()
}

// Flush ends an incomplete last line.
func (c *Collector) Flush() {
	if len(c.state.Line) > 0 {
		c.flush()
	}
	c.release()
	if len(c.state.Begun) > 0 {
		c.noEcho()
	}
}

// TakeShown is TakeTo for a program that has ended with its cursor at the given
// position: what it wrote there and below is output, too.
func (c *Collector) TakeShown(t *vt.Terminal, line int64, col int) {
	_, rows := t.Size()
	last := t.ScreenLine() + int64(rows) - 1
	for last > line && !c.wrote(t, last) {
		last--
	}
	if row := t.Row(int(line - t.ScreenLine())); last > line || col < row.TextLen() && c.wrote(t, line) {
		c.takeUntil(t, last+1)
		return
	}
	c.TakeTo(t, line, col)
}

// wrote reports whether a row of the screen has something that was written since
// the output began.
func (c *Collector) wrote(t *vt.Terminal, line int64) bool {
	row := t.Row(int(line - t.ScreenLine()))
	return row.TextLen() > 0 && (c.state.Since == 0 || row.MaxSeq() > c.state.Since)
}

// Next returns the line from which rows were not taken yet.
func (c *Collector) Next() int64 { return c.state.Next }

// Pending returns the incomplete line that was taken.
func (c *Collector) Pending() string { return string(c.state.Line) }

// TakeTo collects what is before the given position. An incomplete line is
// continued later.
func (c *Collector) TakeTo(t *vt.Terminal, line int64, col int) {
	c.takeUntil(t, line)
	if c.state.Next == line && col > c.state.Col {
		c.add(t, col)
		c.state.Col = col
	}
}

// ContinueAt sets where the output continues after the terminal moved its rows.
func (c *Collector) ContinueAt(line int64, col int) { c.state.Next, c.state.Col = line, col }

// Peek returns what Finish would collect, without collecting it.
func (c *Collector) Peek(t *vt.Terminal, line int64, col int) string {
	copied := *c
	copied.sink = NewSink("")
	copied.state.Line = append([]byte(nil), c.state.Line...)
	copied.state.Held, copied.state.Begun = slices.Clone(c.state.Held), slices.Clone(c.state.Begun)
	copied.Finish(t, line, col)
	return string(copied.sink.state.Mem)
}

// State returns the collector's state, which shares memory with it.
func (c *Collector) State() CollectorState { return c.state }

// ResumeCollector returns a Collector that continues from a state.
func ResumeCollector(sink *Sink, s CollectorState) *Collector {
	return &Collector{sink: sink, state: s}
}

// CutBytes returns the two ends of a text of more than max bytes, with a note
// of what was left out. The ends are whole lines, unless a line is longer than
// half of an end.
func CutBytes(text string, max int) (string, bool) {
	if max <= 0 || len(text) <= max {
		return text, false
	}
	return joinEnds(text[:(max+1)/2], text[len(text)-max/2:], len(text)), true
}

// CutBytesFile is CutBytes for an output that is kept in a file.
func CutBytesFile(f *os.File, max int) (text string, cut bool, err error) {
	info, err := f.Stat()
	if err != nil || max <= 0 || info.Size() <= int64(max) {
		return "", false, err
	}
	head, tail := make([]byte, (max+1)/2), make([]byte, max/2)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", false, err
	}
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return "", false, err
	}
	text = joinEnds(string(head), strings.TrimSuffix(string(tail), "\n"), int(info.Size()))
	return text, true, nil
}

// joinEnds shortens both ends of a text of total bytes to whole lines or
// characters, and puts the note between them.
func joinEnds(head, tail string, total int) string {
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i]
	} else {
		head = withoutHalfRune(head)
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	} else {
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	note := fmt.Sprintf("%s\n[... %d bytes left out ...]", head, total-len(head)-len(tail))
	if tail == "" {
		return note
	}
	return note + "\n" + tail
}

// withoutHalfRune drops the beginning of a character at the end of a text.
func withoutHalfRune(text string) string {
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if at := len(text) - cut; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return text[:at]
			}
			return text
		}
	}
	return text
}
