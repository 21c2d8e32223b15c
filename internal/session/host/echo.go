package host

import (
	"bytes"
	"slices"
	"strings"

	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// echoes finds on the screen what the terminal repeats of the input that den
// sends it, so that no wait takes it for output. Whoever repeats it, the
// kernel or the line editor of a shell, does so where the cursor stands: the
// run of characters that begins there, repeats the input and was written after
// it is its echo. Input that is sent ahead of a prompt is echoed at once by the
// kernel, and again by the line editor that reads it later.
//
// It survives an upgrade.
type echoes struct {
	Typing typedLine  `json:"typing"`           // the line that is being typed
	Lines  []echoLine `json:"lines,omitempty"`  // oldest first
	Prompt *place     `json:"prompt,omitempty"` // where a shell with marks reads its line
	Left   []string   `json:"left,omitempty"`   // what stood left of the cursor when lines were typed at editors: their prompts
}

// echoLine is a line of input whose echo is expected.
type echoLine struct {
	Text    string `json:"text"`
	Seq     uint64 `json:"seq"`               // of the input: its echo is written later
	Entered bool   `json:"entered,omitempty"` // Enter was typed behind it
	Kernel  bool   `json:"kernel,omitempty"`  // the kernel echoes it; else only a line editor may
	Ahead   bool   `json:"ahead,omitempty"`   // a line editor may echo it when it begins to read
	At      *place `json:"at,omitempty"`      // where the echo begins, or nil: unknown
	Tries   int    `json:"tries,omitempty"`   // passes in which the whole screen is searched for it
	Starts  int    `json:"starts,omitempty"`  // of line editors that were waited for
}

// Bounds of what is remembered. The oldest lines are forgotten first: their
// echo would then count as output.
const (
	maxEchoLines = 32
	echoTries    = 8
	maxStarts    = 8
	maxPrompts   = 4
	// minEchoStart is how much of a line is taken for the begin of its echo,
	// where that is not certain.
	minEchoStart = 4
)

// pasteOn switches bracketed paste on, as line editors do when they begin to
// read a line.
var pasteOn = []byte("\x1b[?2004h")

// ttyMode is how the terminal treats input.
type ttyMode struct{ echo, canonical bool }

// hides reports whether input is shown to nobody, as passwords are.
func (m ttyMode) hides() bool { return m.canonical && !m.echo }

// typed notes input that is about to be sent.
func (e *echoes) typed(data []byte, seq uint64, mode ttyMode, term *vt.Terminal) {
	if mode.hides() {
		e.Typing = typedLine{}
		e.Lines = slices.DeleteFunc(e.Lines, func(l echoLine) bool { return !l.Entered })
		return
	}
	for len(data) > 0 {
		part, enter := data, false
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			part, enter = data[:i], true
			data = data[i+1:]
		} else {
			data = nil
		}
		e.Typing.typed(part, mode.canonical)
		l := e.current(seq, mode, term)
		l.Text = string(e.Typing.Text)
		if enter {
			l.Entered = true
			e.Typing.Text = e.Typing.Text[:0]
		}
		if l.Text == "" {
			e.Lines = e.Lines[:len(e.Lines)-1]
		}
	}
	if over := len(e.Lines) - maxEchoLines; over > 0 {
		e.Lines = append(e.Lines[:0], e.Lines[over:]...)
	}
}

// current returns the line that is being typed.
func (e *echoes) current(seq uint64, mode ttyMode, term *vt.Terminal) *echoLine {
	if n := len(e.Lines); n > 0 && !e.Lines[n-1].Entered {
		e.Lines[n-1].Tries = echoTries
		return &e.Lines[n-1]
	}
	l := echoLine{Seq: seq, Kernel: mode.echo, Tries: echoTries}
	if !e.awaited() { // nothing is to be shown before it
		at := cursorPlace(term)
		l.At = &at
		if !mode.echo {
			e.atEditor(term)
		}
	}
	e.Lines = append(e.Lines, l)
	return &e.Lines[len(e.Lines)-1]
}

// atEditor notes that a line editor waits for a line: it has read those that
// were sent ahead.
func (e *echoes) atEditor(term *vt.Terminal) {
	e.Lines = slices.DeleteFunc(e.Lines, func(l echoLine) bool { return l.Ahead })
	cur := term.Cursor()
	left := cell.TextLeft(term, term.ScreenLine()+int64(cur.Row), cur.Col)
	if left = strings.TrimSpace(left); left == "" || slices.Contains(e.Left, left) {
		return // its prompt is still to come, or known
	}
	if e.Left = append(e.Left, left); len(e.Left) > maxPrompts {
		e.Left = e.Left[1:]
	}
}

// editorStarts reports whether a line editor may begin to read in a chunk of
// output: it switches bracketed paste on, or shows a prompt that was seen
// before.
func (e *echoes) editorStarts(chunk []byte) bool {
	return bytes.Contains(chunk, pasteOn) ||
		slices.ContainsFunc(e.Left, func(left string) bool { return bytes.Contains(chunk, []byte(left)) })
}

// awaited reports whether the echo of an earlier line has not come yet.
func (e *echoes) awaited() bool {
	for i := range e.Lines {
		if l := &e.Lines[i]; l.Entered && !l.Ahead {
			return true
		}
	}
	return false
}

// cover gives echoes on the screen the number 0, after a chunk of output was
// written to it.
func (e *echoes) cover(term *vt.Terminal, chunk []byte) {
	if len(e.Lines) == 0 {
		return
	}
	starts := e.editorStarts(chunk)
	kept := e.Lines[:0]
	for _, l := range e.Lines {
		if starts && (l.Ahead || !l.Entered) && l.Tries == 0 && l.Starts < maxStarts {
			l.Tries = echoTries
			l.Starts++
		}
		if !e.coverLine(term, &l) {
			kept = append(kept, l)
		}
	}
	e.Lines = kept
}

// coverLine covers one line's echo, and reports whether no more is expected.
func (e *echoes) coverLine(term *vt.Terminal, l *echoLine) (done bool) {
	if e.Prompt != nil && e.coverAt(term, l, *e.Prompt) && l.Entered {
		return true
	}
	if l.At != nil {
		if e.coverAt(term, l, *l.At) && l.Entered {
			return l.shown()
		}
		if repeated(term, *l.At, l.Text).atCursor(term) {
			return false // it goes on there
		}
	}
	if l.Tries > 0 {
		l.Tries--
		if at, ok := findEcho(term, l); ok {
			l.At = &at
			return e.coverAt(term, l, at) && l.shown()
		}
		return false
	}
	if !l.Entered || l.Ahead {
		return false
	}
	l.Ahead = true
	return l.At != nil // it was not echoed
}

// shown notes that the echo is complete, and reports whether it was the last.
func (l *echoLine) shown() (last bool) {
	if !l.Entered {
		return false
	}
	last = l.Ahead || !l.Kernel
	l.Ahead, l.At, l.Tries = true, nil, 0
	return last
}

// coverAt covers what stands of a line at a place, and reports whether the
// echo is complete: all of it is there, and the cursor has left it if Enter
// was typed.
func (e *echoes) coverAt(term *vt.Terminal, l *echoLine, at place) bool {
	r := repeated(term, at, l.Text)
	if r.n == 0 {
		return false
	}
	forget(term, at, r.end, l.Seq)
	whole := l.isWhole(r)
	if whole && l.Entered && r.end.leftBy(term) {
		return true
	}
	if !l.Kernel && r.atCursor(term) {
		// What a line editor shows behind the cursor is its own: a suggestion, or
		// a prompt at the right.
		forget(term, r.end, r.end.rowEnd(term), l.Seq)
	}
	return whole && !l.Entered
}

// isWhole reports whether all of the line stands there.
func (l *echoLine) isWhole(r repeat) bool { return r.n >= len(strings.TrimRight(l.Text, " ")) }

// promptAt notes where a shell reads its next line. A line that was sent ahead
// is echoed there.
func (e *echoes) promptAt(term *vt.Terminal, at place) {
	e.Prompt = &at
	e.cover(term, nil)
}

// promptOver notes that the shell does not read a line any more.
func (e *echoes) promptOver(term *vt.Terminal) {
	if e.Prompt != nil {
		e.cover(term, nil)
		e.Prompt = nil
	}
}

// resized notes that text may stand elsewhere now, and be drawn again.
func (e *echoes) resized() {
	e.Prompt = nil
	for i := range e.Lines {
		if l := &e.Lines[i]; !l.Ahead {
			l.At, l.Tries = nil, echoTries
		}
	}
}

// place is a position in the text of a screen: on the main screen by the
// absolute number of its line, on the alternate screen by its row.
type place struct {
	Line int64 `json:"line"`
	Col  int   `json:"col"`
	Alt  bool  `json:"alt,omitempty"`
}

// cursorPlace is where the next character goes.
func cursorPlace(term *vt.Terminal) place {
	cur := term.Cursor()
	p := place{Line: int64(cur.Row), Col: cur.Col, Alt: term.Modes().AltScreen}
	if cur.PendingWrap {
		p.Line, p.Col = p.Line+1, 0
	}
	if !p.Alt {
		p.Line += term.ScreenLine()
	}
	return p
}

// row returns the place's row on the screen, or false where it shows none.
func (p place) row(term *vt.Terminal) (int, bool) {
	y := p.Line
	if !p.Alt {
		y -= term.ScreenLine()
	}
	_, rows := term.Size()
	return int(y), p.Alt == term.Modes().AltScreen && y >= 0 && y < int64(rows)
}

// rowEnd is the end of the place's row.
func (p place) rowEnd(term *vt.Terminal) place {
	cols, _ := term.Size()
	p.Col = cols
	return p
}

// next returns the place after a cell, at the start of the next row where the
// row ends.
func (p place) next(term *vt.Terminal, width int) place {
	cols, _ := term.Size()
	if p.Col += max(1, width); p.Col >= cols {
		p.Line, p.Col = p.Line+1, 0
	}
	return p
}

// leftBy reports whether the cursor is in a row below the text that ends at the
// place.
func (p place) leftBy(term *vt.Terminal) bool {
	if p.Col == 0 {
		p.Line-- // the text filled the row above
	}
	y, ok := p.row(term)
	return !ok || term.Cursor().Row > y
}

// repeat is how much of a text stands on the screen from a place on.
type repeat struct {
	n     int   // bytes
	end   place // of them
	reach place // and of the blanks behind them that the text has there too, written or not
}

// atCursor reports whether the text ends where the cursor is, so that it may go
// on.
func (r repeat) atCursor(term *vt.Terminal) bool {
	cursor := cursorPlace(term)
	return r.n > 0 && cursor.Alt == r.end.Alt && !cursor.before(r.end) && !r.reach.before(cursor)
}

func (p place) before(q place) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// repeated compares a text with the screen from a place on. Text may go on in
// the next row, wherever the row ends. Blanks at its end do not count.
func repeated(term *vt.Terminal, at place, text string) repeat {
	cols, _ := term.Size()
	r := repeat{end: at, reach: at}
	for n := 0; n < len(text); {
		y, ok := at.row(term)
		if !ok || at.Col >= cols {
			break
		}
		row := term.Row(y)
		var room [16]byte
		cell := row.AppendCell(room[:0], at.Col)
		if len(cell) == 0 {
			cell = append(cell, ' ')
		}
		if !startsWith(text[n:], cell) {
			if string(cell) != " " || at.Col != cols-1 {
				break
			}
			at = at.next(term, 1) // a wide character did not fit there
			continue
		}
		n += len(cell)
		at = at.next(term, row.Width(at.Col))
		if r.reach = at; string(cell) != " " {
			r.n, r.end = n, at
		}
	}
	return r
}

// forget gives the characters in [from, to) that were written after event seq
// the number 0, as if no event had written them.
func forget(term *vt.Terminal, from, to place, seq uint64) {
	eachCell(term, from, to, func(y, col, width int) {
		if term.Row(y).Seq(col) > seq {
			term.Restamp(y, col, col+width, 0)
		}
	})
}

// eachCell calls do for the characters in [from, to).
func eachCell(term *vt.Terminal, from, to place, do func(y, col, width int)) {
	cols, _ := term.Size()
	for from.Line < to.Line || from.Line == to.Line && from.Col < to.Col {
		y, ok := from.row(term)
		if !ok || from.Col >= cols {
			return
		}
		row := term.Row(y)
		width := max(1, row.Width(from.Col))
		if len(row.AppendCell(nil, from.Col)) > 0 {
			do(y, from.Col, width)
		}
		if from.Col += width; from.Col >= cols && from.Line < to.Line {
			from.Line, from.Col = from.Line+1, 0
		}
	}
}

// findEcho searches the screen for a line's echo, written after the input: the
// first place where all of an entered line stands and nothing follows it in its
// row, or a part of the line that ends at the cursor.
func findEcho(term *vt.Terminal, l *echoLine) (place, bool) {
	cols, rows := term.Size()
	alt := term.Modes().AltScreen
	top := int64(0)
	if !alt {
		top = term.ScreenLine()
	}
	var room [16]byte
	for y := range rows {
		row := term.Row(y)
		if row.MaxSeq() <= l.Seq {
			continue
		}
		for col := range cols {
			cell := row.AppendCell(room[:0], col)
			if len(cell) == 0 || !startsWith(l.Text, cell) {
				continue
			}
			at := place{Line: top + int64(y), Col: col, Alt: alt}
			r := repeated(term, at, l.Text)
			whole := l.isWhole(r)
			found := whole && l.Entered && blankFrom(term, r.end) || (whole || r.n >= minEchoStart) && r.atCursor(term)
			if found && writtenAfter(term, at, r.end, l.Seq) {
				return at, true
			}
		}
	}
	return place{}, false
}

// writtenAfter reports whether a character in [from, to) was written after event
// seq. The others may be a part of the echo that was found before.
func writtenAfter(term *vt.Terminal, from, to place, seq uint64) bool {
	found := false
	eachCell(term, from, to, func(y, col, _ int) { found = found || term.Row(y).Seq(col) > seq })
	return found
}

func startsWith(text string, cell []byte) bool {
	return len(cell) <= len(text) && text[:len(cell)] == string(cell)
}

// blankFrom reports whether the row is blank from a place on.
func blankFrom(term *vt.Terminal, at place) bool {
	y, ok := at.row(term)
	if !ok || at.Col == 0 {
		return true // the text filled the row before
	}
	row := term.Row(y)
	for col := at.Col; col < row.Len(); col++ {
		if cell := string(row.AppendCell(nil, col)); cell != "" && cell != " " {
			return false
		}
	}
	return true
}
