package vt

// anchor is where the screen began before resizes pushed rows of it into the
// scrollback: up rows above the screen's top, at a column. Growing again
// brings these rows back.
type anchor struct{ up, col int }

// Resize changes the size.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.gen++
	t.main.rows = t.clipped(t.main.rows, cols, rows)
	t.hist.clear()
	if t.alt.rows != nil {
		t.alt.rows = t.clipped(t.alt.rows, cols, rows)
	}
	t.cols, t.rows = cols, rows
	t.margins = margins{bottom: rows - 1, right: cols - 1}
	t.moveTo(t.cur.x, t.cur.y)
}

func (t *Terminal) clipped(rows []*line, cols, n int) []*line {
	out := newLines(n, cols)
	for y, l := range rows[:min(len(rows), n)] {
		copy(out[y].cells, l.cells)
	}
	return out
}
