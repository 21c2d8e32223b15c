package vt

// line is one row of cells.
type line struct {
	cells   []cell
	wrapped bool // the text goes on in the next row
	prompt  PromptMarks
	size    LineSize
	stamp   stamp  // of all characters in the row, or mixed
	spans   []span // of the whole row, while stamp is mixed
	typed   typed
}

// clear makes the row empty, in the given blank.
func (l *line) clear(blank cell) {
	switch {
	case blank != 0:
		fill(l.cells, blank)
		l.untype()
	case l.typed.on:
		clear(l.cells[:len(l.typed.text)])
		l.retype()
	default:
		clear(l.cells)
		l.retype()
	}
	l.wrapped, l.prompt, l.size, l.stamp = false, 0, SingleSize, 0
}

// endChanged notes that the last cell is about to change: what was written
// there no longer runs on into the next row.
func (l *line) endChanged() {
	if l.wrapped {
		l.wrapped = false
		l.cells[len(l.cells)-1] &^= cellPad
	}
}

// join notes that the text goes on in the next row, where it can.
func (l *line) join() { l.wrapped = l.wrapped || l.size == SingleSize }

// splitAt replaces a wide character that crosses the left border of column x
// by two blanks.
func (t *Terminal) splitAt(l *line, x int) {
	if x < len(l.cells) && l.cells[x]&cellSpacer != 0 {
		t.split(l, x)
	}
}

func (t *Terminal) split(l *line, x int) {
	l.untype()
	l.cells[x-1] = t.blankOf(l.cells[x-1])
	l.cells[x] = t.blankOf(l.cells[x])
	if x == len(l.cells)-1 {
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
		lines[i].cells = cells[i*cols : (i+1)*cols : (i+1)*cols]
		out[i] = &lines[i]
	}
	return out
}

// buffer is one of the two screens, with what belongs to it alone.
type buffer struct {
	rows  []*line // nil while the alternate screen was never used
	saved savedCursor
	kitty kittyStack
}
