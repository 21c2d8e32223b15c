package vt

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
		return len(l.cells)
	}
	return max(1, len(l.cells)/2)
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
	l.untype()
	clear(l.cells[n:])
}

// singleRows makes all rows of both screens single ones.
func (t *Terminal) singleRows() {
	for _, rows := range [][]*line{t.main.rows, t.alt.rows} {
		for _, l := range rows {
			l.size = SingleSize
		}
	}
}
