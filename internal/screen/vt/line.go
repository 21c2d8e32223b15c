package vt

// line is one row of cells.
type line struct {
	grid    []cell // the cells; see cells and edit
	wrapped bool   // the text goes on in the next row
	prompt  PromptMarks
	size    LineSize
	stamp   stamp  // of all characters in the row, or mixed
	spans   []span // of the whole row, while stamp is mixed
	typed   typed  // what the row is while it is on
	moved   moved  // where text was left out: see AppendPrinted
}

// cells returns the cells to be read.
func (l *line) cells() []cell {
	if l.typed.ahead {
		l.draw()
	}
	return l.grid
}

// at returns the cell in column x.
func (l *line) at(x int) cell {
	if l.typed.on {
		return l.typed.at(x)
	}
	return l.grid[x]
}

// edit returns the cells to be changed.
func (l *line) edit() []cell {
	if l.typed.on {
		l.untype()
	}
	return l.grid
}

// cols is the number of cells.
func (l *line) cols() int { return len(l.grid) }

// clear makes the row empty, in the given blank.
func (l *line) clear(blank cell) {
	if l.typed.on {
		clear(l.grid[:l.typed.inked])
	} else {
		clear(l.grid)
	}
	l.retype(0)
	if blank != 0 {
		l.typed.erase(0, l.cols(), blank.style())
	}
	l.wrapped, l.prompt, l.size, l.stamp = false, 0, SingleSize, 0
	l.moved.clear()
}

// erase blanks columns [from, to).
func (l *line) erase(from, to int, blank cell) {
	if l.typed.on {
		l.typed.erase(from, to, blank.style())
	} else {
		fill(l.grid[from:to], blank)
	}
}

// endChanged notes that the last cell is about to change: what was written
// there no longer runs on into the next row.
func (l *line) endChanged() {
	if l.wrapped {
		l.wrapped = false
		if !l.typed.on {
			l.grid[l.cols()-1] &^= cellPad
		}
	}
}

// join notes that the text goes on in the next row, where it can.
func (l *line) join() { l.wrapped = l.wrapped || l.size == SingleSize }

// splitAt replaces a wide character that crosses the left border of column x
// by two blanks.
func (t *Terminal) splitAt(l *line, x int) {
	if !l.typed.on && x < l.cols() && l.grid[x]&cellSpacer != 0 {
		t.split(l, x)
	}
}

func (t *Terminal) split(l *line, x int) {
	cells := l.edit()
	cells[x-1], cells[x] = t.blankOf(cells[x-1]), t.blankOf(cells[x])
	if x == l.cols()-1 {
		l.endChanged()
	}
}

// blankOf is a blank on the background of c.
func (t *Terminal) blankOf(c cell) cell {
	id := c.style()
	if id == 0 {
		return 0
	}
	bg := t.styles.list[id].bg
	if bg == 0 {
		return 0
	}
	return cell(t.styleID(style{bg: bg})) << styleShift
}

// newLines makes n empty rows whose cells share one piece of memory.
func newLines(n, cols int) []*line {
	cells := make([]cell, n*cols)
	lines := make([]line, n)
	out := make([]*line, n)
	for i := range lines {
		lines[i].grid = cells[i*cols : (i+1)*cols : (i+1)*cols]
		out[i] = &lines[i]
	}
	return out
}

// buffer is one of the two screens, with what belongs to it alone.
type buffer struct {
	rows  []*line // nil while the alternate screen was never used
	room  []*line // in which the rows move on as they scroll, so that each need not be moved; or nil
	saved savedCursor
	kitty kittyStack
}

// cell is one character position of a row.
//
//	bits  0-20  content: a rune, or a cluster number; 0 = blank
//	bit   21    the content is a cluster number
//	bit   22    first half of a wide character, or all of it on a screen of one column
//	bit   23    second half of a wide character (no content)
//	bit   24    protected from selective erase
//	bit   25    left blank at a row's end because a wide character did not fit
//	bits 32-63  style number
type cell uint64

const (
	cellCluster   cell = 1 << 21
	cellWide      cell = 1 << 22
	cellSpacer    cell = 1 << 23
	cellProtected cell = 1 << 24
	cellPad       cell = 1 << 25

	contentMask cell = cellCluster<<1 - 1
	styleShift       = 32
)

// content is a cell's rune or cluster bits alone.
func (c cell) content() cell { return c & contentMask }

func (c cell) style() uint32 { return uint32(c >> styleShift) }

// blank reports whether the cell has no character.
func (c cell) blank() bool { return c&(contentMask|cellSpacer) == 0 }

func (c cell) width() int {
	switch {
	case c&cellSpacer != 0:
		return 0
	case c&cellWide != 0:
		return 2
	}
	return 1
}

func fill(cells []cell, with cell) {
	if with == 0 {
		clear(cells)
		return
	}
	for i := range cells {
		cells[i] = with
	}
}

// LineSize is the size of a row's characters.
type LineSize uint8

const (
	SingleSize   LineSize = 0
	DoubleWidth  LineSize = 1 // DECDWL
	DoubleTop    LineSize = 2 // DECDHL: the upper half of a row of double height
	DoubleBottom LineSize = 3
)

// sizeCodes are the final bytes of ESC # for each size.
const sizeCodes = "5634"

// Size returns the size of the row's characters. A row that is not of single
// size shows the left half of its cells; the others are empty.
func (r Row) Size() LineSize { return r.l.size }

// Shown is the number of cells that the row has room for.
func (r Row) Shown() int { return r.l.room() }

// room is the number of cells that are shown.
func (l *line) room() int {
	if l.size == SingleSize {
		return l.cols()
	}
	return max(1, l.cols()/2)
}

// setSize is DECSWL, DECDWL and DECDHL. What stands in the right half of a row
// that becomes double is lost, as on a VT100. With left and right margins there
// are no double rows.
func (t *Terminal) setSize(size LineSize) {
	if size != SingleSize && t.modes.has(modeMargins) {
		return
	}
	l := t.row(t.cur.y)
	if size == SingleSize {
		l.size = size
		return
	}
	l.endChanged()
	if l.size == SingleSize {
		l.size = size
		t.cutHidden(l)
	}
	l.size = size
}

// cutHidden empties the cells of a double row that are not shown.
func (t *Terminal) cutHidden(l *line) {
	n := l.room()
	t.splitAt(l, n)
	clear(l.edit()[n:])
}

// singleRows makes all rows of both screens single ones.
func (t *Terminal) singleRows() {
	for _, rows := range [][]*line{t.main.rows, t.alt.rows} {
		for _, l := range rows {
			l.size = SingleSize
		}
	}
}
