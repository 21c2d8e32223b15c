package terminal

import (
	"bytes"

	"den/internal/screen/vt"
)

// scrollback is how many lines above the screen a view keeps.
const scrollback = 10_000

// Bounds of what the emulator gets at once. Rows that leave the screen are read
// while the emulator has them at hand, which is cheap for the newest few.
const (
	maxPart      = 1 << 10
	maxPartLines = 8
)

// maxOpenRows is how many rows of one unfinished line may leave the screen
// before they are taken without its end.
const maxOpenRows = 100

// view follows the output of one terminal on an emulator, and collects what was
// not shown to the agent yet.
//
// Every part of the output has a number, which the emulator keeps with each
// character: what was written by a part above the mark was not taken. Lines
// are taken when they leave the screen, before the program erases the screen
// or covers it with the alternate one, and when the agent looks. Rows are
// counted from the terminal's start, as the emulator does.
type view struct {
	term *vt.Terminal
	hold []byte // the beginning of a sequence that may be an edge

	part  uint64           // the number of the last part
	mark  uint64           // what was written by parts up to this one was taken
	gone  int64            // rows before this one have left the screen, and were taken
	next  int64            // the first row that was never taken; it may be on the screen
	open  bool             // row gone continues a line of which a part was taken
	bare  bool             // the screen was erased, and nothing was taken of it since
	top   int64            // the row at the screen's top when lines of it were last taken
	texts map[int64]string // lines of the screen as they were taken then, by their first row

	lines   spool
	cleared bool // the screen was erased since the agent looked

	alt []string // the alternate screen as the agent saw it last; or nil

	room []byte // for a line's text
}

func newView(cols, rows int, lines spool) *view {
	return viewOf(vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: scrollback}), 0, lines)
}

// viewOf is a view of a terminal that shows something already: all of it counts
// as taken. No character of it may have a number above seq.
func viewOf(term *vt.Terminal, seq uint64, lines spool) *view {
	v := &view{term: term, part: seq, lines: lines}
	v.gone = term.ScreenLine()
	v.rebase()
	return v
}

// rebase makes all that the screen shows count as taken.
func (v *view) rebase() {
	v.mark = v.part
	if v.term.Modes().AltScreen { // what it covers is not known: rather all of it than none
		_, rows := v.term.Size()
		v.next = v.term.ScreenLine() + int64(rows)
		return
	}
	v.next = v.last() + 1
	v.remember()
}

// write takes output of the program.
func (v *view) write(out []byte) {
	if len(v.hold) > 0 {
		out = append(v.hold, out...)
		v.hold = nil
	}
	for {
		from, to, kind := findEdge(out)
		v.feed(out[:from])
		switch kind {
		case noEdge:
			return
		case cutEdge:
			v.hold = bytes.Clone(out[from:])
			return
		}
		v.cross(out[from:to], kind)
		out = out[to:]
	}
}

// cross feeds an edge.
func (v *view) cross(sequence []byte, kind edge) {
	cursor, main := v.term.Cursor(), !v.term.Modes().AltScreen
	home := cursor.Row == 0 && cursor.Col == 0
	clears := kind == reset || main && (kind == eraseScreen || kind == eraseBelow && home)
	if clears || kind == alternate {
		v.take()
	}
	v.feed(sequence)
	if clears {
		v.erased()
	} else {
		v.shrink()
	}
}

// feed gives output to the emulator, in parts.
func (v *view) feed(out []byte) {
	for len(out) > 0 {
		n := partLen(out)
		v.part++
		v.term.SetSeq(v.part)
		v.term.Write(out[:n]) // A terminal takes every byte.
		v.term.TakeReplies()
		v.term.TakeMarks()
		v.term.TakeNotes()
		out = out[n:]
		v.takeScrolled()
	}
}

// partLen is the length of the next part of output.
func partLen(out []byte) int {
	out = out[:min(len(out), maxPart)]
	n := 0
	for range maxPartLines {
		i := bytes.IndexByte(out[n:], '\n')
		if i < 0 {
			return len(out)
		}
		n += i + 1
	}
	return n
}

// erased notes that the screen is empty: its rows are new ones.
func (v *view) erased() {
	v.gone = v.term.ScreenLine()
	v.next, v.open, v.bare, v.texts = v.gone, false, true, nil
	v.cleared = true
}

// shrink notes that rows below the cursor are empty again: what is written to
// them is new.
func (v *view) shrink() {
	if v.term.Modes().AltScreen {
		return
	}
	top := v.term.ScreenLine()
	cursor := top + int64(v.term.Cursor().Row)
	for v.next > max(top, cursor+1) && isBlank(v.row(v.next-1)) {
		v.next--
	}
}

// resize follows a resize, which wraps lines anew: rows get other numbers.
func (v *view) resize(cols, rows int) {
	v.take()
	v.term.Resize(cols, rows)
	v.gone, v.open = v.term.ScreenLine(), false
	v.rebase()
}

func (v *view) clearScrollback() {
	v.take()
	v.term.ClearScrollback()
	v.gone = max(v.gone, v.term.ScreenLine())
}

func (v *view) row(at int64) vt.Row { return v.term.Row(int(at - v.term.ScreenLine())) }

// last is the last row of the screen that has something to show: text, or the
// cursor behind its first column. If there is none it is the row above.
func (v *view) last() int64 {
	top := v.term.ScreenLine()
	cursor := v.term.Cursor()
	last := cursor.Row - 1
	if cursor.Col > 0 {
		last = cursor.Row
	}
	_, rows := v.term.Size()
	for y := rows - 1; y > last; y-- {
		if !isBlank(v.term.Row(y)) {
			last = y
		}
	}
	return top + int64(last)
}

// text is that of the rows first to last, which are one line.
func (v *view) text(first, last int64) string {
	v.room = v.room[:0]
	for at := first; at <= last; at++ {
		row := v.row(at)
		v.room = row.AppendWritten(v.room, 0, row.Len())
	}
	return string(v.room)
}

// endOf is the last row of the line that begins in a row, as far as limit.
func (v *view) endOf(first, limit int64) int64 {
	for at := first; at < limit; at++ {
		if !v.row(at).Wrapped() {
			return at
		}
	}
	return limit
}

// takeScrolled takes the lines that left the screen. A line that goes on there
// waits for its end, unless it is very long.
func (v *view) takeScrolled() {
	top := v.term.ScreenLine()
	v.gone = max(v.gone, v.term.FirstLine())
	for v.gone < top {
		end := v.endOf(v.gone, top-1)
		if end == top-1 && v.row(end).Wrapped() {
			if top-v.gone >= maxOpenRows {
				v.takePart(top)
			}
			return
		}
		v.takeLine(v.gone, end)
		v.gone, v.open = end+1, false
		v.next = max(v.next, v.gone)
	}
}

// takePart takes the part of a line that has left the screen, if the line is
// the last one and grows. What is left of it is a part of its own.
func (v *view) takePart(top int64) {
	if v.term.Modes().AltScreen {
		return
	}
	last := v.last()
	if v.endOf(v.gone, last) < last {
		return
	}
	line, fresh := v.classify(v.gone, last)
	if !fresh {
		return
	}
	line.Text = v.text(v.gone, top-1)
	v.bare = false
	v.lines.add(line)
	v.gone, v.next, v.open = top, top, true
}

// take takes what the main screen shows.
func (v *view) take() {
	v.takeScrolled()
	if v.term.Modes().AltScreen {
		return // what it covers was taken before
	}
	last := v.last()
	for at := v.gone; at <= last; {
		end := v.endOf(at, last)
		v.takeLine(at, end)
		at = end + 1
	}
	v.next = max(v.next, last+1)
	v.mark = v.part
	v.remember()
}

// remember keeps the lines of the screen as they are, so that a program which
// draws them again does not make them new.
func (v *view) remember() {
	v.top = v.term.ScreenLine()
	v.texts = map[int64]string{}
	last := v.last()
	for at := v.gone; at <= last; {
		end := v.endOf(at, last)
		v.texts[at] = v.text(at, end)
		at = end + 1
	}
}

// takeLine takes a line if it has something that was not taken.
func (v *view) takeLine(first, last int64) {
	line, fresh := v.classify(first, last)
	if !fresh {
		return
	}
	if v.bare && line.Text == "" {
		return // where the cursor was moved to on an empty screen
	}
	v.bare = false
	v.lines.add(line)
}

// classify returns a line as it would be taken, and whether it has something
// that was not taken.
func (v *view) classify(first, last int64) (Line, bool) {
	line := Line{Joined: v.open && first == v.gone}
	switch {
	case last >= v.next:
		line.Again = first < v.next
	case !v.isFresh(first, last):
		return line, false
	default:
		line.Again = last == v.next-1
		line.Redrawn = !line.Again
	}
	line.Text = v.text(first, last)
	if last < v.next && (line.Text == "" || v.top == v.term.ScreenLine() && v.texts[first] == line.Text) {
		return line, false // erased, or drawn again as it was
	}
	return line, true
}

// isFresh reports whether something in the rows was written above the mark.
func (v *view) isFresh(first, last int64) bool {
	for at := first; at <= last; at++ {
		if v.row(at).MaxSeq() > v.mark {
			return true
		}
	}
	return false
}

// waiting calls each with the lines of the screen that take would take.
func (v *view) waiting(each func(Line)) {
	if v.term.Modes().AltScreen {
		return
	}
	last := v.last()
	for at := v.gone; at <= last; {
		end := v.endOf(at, last)
		if line, fresh := v.classify(at, end); fresh {
			each(line)
		}
		at = end + 1
	}
}

// A Row is a row of the screen of a full-screen program, counted from 1.
type Row struct {
	Row  int    `json:"row"`
	Text string `json:"text"`
}

// takeAlt returns the rows of the alternate screen that differ from what the
// agent saw last. A row that is empty now is one of them.
func (v *view) takeAlt() []Row {
	_, rows := v.term.Size()
	now := make([]string, rows)
	var changed []Row
	for y := range rows {
		now[y] = string(v.term.Row(y).AppendText(nil))
		before := ""
		if y < len(v.alt) {
			before = v.alt[y]
		}
		if now[y] != before {
			changed = append(changed, Row{y + 1, now[y]})
		}
	}
	v.alt = now
	return changed
}

// cursorLine is the row that the cursor is in, counted from the start.
func (v *view) cursorLine() int64 { return v.term.ScreenLine() + int64(v.term.Cursor().Row) }

// echo is where the echo of keystrokes is expected.
type echo struct {
	from, to int64 // rows: where the cursor stood, and where it will stand at most
	lines    []string
}

// echoOf expects the echo of typed lines at the cursor; with enter, each of
// them was entered.
func (v *view) echoOf(lines []string, enter bool) echo {
	cols, _ := v.term.Size()
	e := echo{from: v.cursorLine(), lines: lines}
	e.to = e.from
	col := v.term.Cursor().Col
	for i, line := range lines {
		e.to += int64((col + vt.TextWidth(line, false)) / cols)
		col = 0
		if i < len(lines)-1 || enter {
			e.to++
		}
	}
	return e
}

// covers reports whether nothing but the echo has been printed, as far as the
// cursor tells.
func (v *view) covers(e echo) bool {
	if v.term.Modes().AltScreen {
		return false
	}
	at := v.cursorLine()
	if at < e.from || at > e.to {
		return false
	}
	entered := at == e.to && e.to > e.from
	return !entered || v.term.Cursor().Col == 0 && isBlank(v.row(at))
}
