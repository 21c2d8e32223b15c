package vt

// line is one row of cells.
type line struct {
	cells   []cell
	wrapped bool // the text goes on in the next row
	prompt  PromptMarks
}

// clear makes the row empty, in the given blank.
func (l *line) clear(blank cell) {
	fill(l.cells, blank)
	l.wrapped, l.prompt = false, 0
}

// endChanged notes that the last cell is about to change: what was written
// there no longer runs on into the next row.
func (l *line) endChanged() {
	if l.wrapped {
		l.wrapped = false
		l.cells[len(l.cells)-1] &^= cellPad
	}
}

// splitAt makes sure that no wide character stands across the border left of
// column x; one that does becomes two blanks.
func (t *Terminal) splitAt(l *line, x int) {
	if x < len(l.cells) && l.cells[x]&cellSpacer != 0 {
		t.split(l, x)
	}
}

func (t *Terminal) split(l *line, x int) {
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

// history is the ring of rows above the main screen, oldest first.
type history struct {
	ring  []*line
	head  int // ring index of the oldest row
	n     int
	max   int   // most rows kept
	first int64 // absolute number of the oldest row kept
	spare []*line
}

func (h *history) len() int { return h.n }

// at returns row i, 0 being the oldest.
func (h *history) at(i int) *line {
	i += h.head
	if i >= len(h.ring) {
		i -= len(h.ring)
	}
	return h.ring[i]
}

// last returns the newest row, or nil.
func (h *history) last() *line {
	if h.n == 0 {
		return nil
	}
	return h.at(h.n - 1)
}

// push takes l as the newest row and returns a row to be used in its place,
// its content undefined.
func (h *history) push(l *line) *line {
	if h.max == 0 {
		h.first++
		return l
	}
	if h.n == h.max {
		i := h.head
		old := h.ring[i]
		h.ring[i] = l
		if h.head++; h.head == len(h.ring) {
			h.head = 0
		}
		h.first++
		return old
	}
	if h.n == len(h.ring) {
		h.grow()
	}
	i := h.head + h.n
	if i >= len(h.ring) {
		i -= len(h.ring)
	}
	h.ring[i] = l
	h.n++
	if len(h.spare) == 0 {
		h.spare = newLines(min(64, h.max), len(l.cells))
	}
	fresh := h.spare[len(h.spare)-1]
	h.spare = h.spare[:len(h.spare)-1]
	return fresh
}

func (h *history) grow() {
	bigger := make([]*line, min(max(64, 2*len(h.ring)), h.max))
	for i := range h.n {
		bigger[i] = h.at(i)
	}
	h.ring, h.head = bigger, 0
}

// clear forgets all rows; their numbers are not used again.
func (h *history) clear() {
	h.first += int64(h.n)
	h.ring, h.spare, h.head, h.n = nil, nil, 0, 0
}
