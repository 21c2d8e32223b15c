package vt

// hotRows is the number of rows at the end of the scrollback that are not
// packed. The newest may still change, when text starts or stops wrapping from
// them to the screen; older ones never do.
const hotRows = 16 // a power of two

// history is the rows above the main screen, oldest first.
type history struct {
	cold  coldRows
	hot   [hotRows]*line // ring of the newest rows
	head  int            // index of the oldest of them
	nHot  int
	max   int   // most rows kept
	first int64 // absolute number of the oldest row kept
	spare []*line
}

func (h *history) len() int { return h.cold.n + h.nHot }

// at returns row i, 0 being the oldest. A packed row is unpacked into the line
// given.
func (h *history) at(i int, into *line) *line {
	if i >= h.cold.n {
		return h.hot[(h.head+i-h.cold.n)&(hotRows-1)]
	}
	into.unpack(h.cold.at(i))
	return into
}

// histLine returns row i of the scrollback, 0 being the oldest.
func (t *Terminal) histLine(i int) *line {
	if i >= t.hist.cold.n {
		return t.hist.at(i, nil) // not packed: nothing to make room for
	}
	return t.hist.at(i, &line{grid: make([]cell, t.cols)})
}

// last returns the newest row, or nil.
func (h *history) last() *line {
	if h.nHot == 0 {
		return nil
	}
	return h.hot[(h.head+h.nHot-1)&(hotRows-1)]
}

// push adds l as the newest row and returns a row to use in its place, with
// undefined content.
func (h *history) push(l *line) *line {
	if h.max == 0 {
		h.first++
		return l
	}
	full := h.len() == h.max
	if full {
		h.first++
	}
	var fresh *line
	switch {
	case h.nHot == min(hotRows, h.max):
		fresh = h.hot[h.head]
		h.head = (h.head + 1) & (hotRows - 1)
		h.nHot--
		if h.max > hotRows {
			h.cold.push(fresh)
		}
		if full && h.max > hotRows {
			h.cold.drop()
		}
	default:
		if len(h.spare) == 0 {
			h.spare = newLines(min(hotRows, h.max), l.cols())
		}
		fresh = h.spare[len(h.spare)-1]
		h.spare = h.spare[:len(h.spare)-1]
	}
	h.hot[(h.head+h.nHot)&(hotRows-1)] = l
	h.nHot++
	return fresh
}

// load makes lines, oldest first, all that is kept. They are the history's then.
func (h *history) load(lines []*line) {
	*h = history{max: h.max, first: h.first}
	if n := len(lines) - h.max; n > 0 {
		h.first += int64(n)
		lines = lines[n:]
	}
	for ; len(lines) > hotRows; lines = lines[1:] {
		h.cold.push(lines[0])
	}
	h.nHot = copy(h.hot[:], lines)
}

// clear forgets all rows; their numbers are not used again.
func (h *history) clear() {
	*h = history{max: h.max, first: h.first + int64(h.len())}
}

// cut forgets the rows from row n on.
func (h *history) cut(n int) {
	if n >= h.cold.n {
		h.nHot = n - h.cold.n
		return
	}
	h.nHot = 0
	h.cold.cut(n)
}
