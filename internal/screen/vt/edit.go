package vt

// insertCells opens n blanks at x; cells before end move right, the last are lost.
func (t *Terminal) insertCells(l *line, x, n, end int) {
	end = min(end, l.room())
	if n = min(n, end-x); n <= 0 {
		return
	}
	t.splitAt(l, x)
	t.splitAt(l, end-n)
	t.splitAt(l, end)
	if end == l.cols() {
		l.endChanged()
	}
	l.moved.clear()
	cells := l.edit()
	copy(cells[x+n:end], cells[x:end-n])
	l.moveStamps(x+n, l, x, end-n-x)
	fill(cells[x:x+n], t.blank())
}

// deleteCells removes n cells at x; cells before end move left, blanks follow.
func (t *Terminal) deleteCells(l *line, x, n, end int) {
	end = min(end, l.room())
	if n = min(n, end-x); n <= 0 {
		return
	}
	t.splitAt(l, x)
	t.splitAt(l, x+n)
	t.splitAt(l, end)
	if end == l.cols() {
		l.endChanged()
	}
	l.moved.clear()
	cells := l.edit()
	copy(cells[x:end-n], cells[x+n:end])
	l.moveStamps(x, l, x+n, end-n-x)
	fill(cells[end-n:end], t.blank())
}

// insertChars is ICH, deleteChars DCH. Outside the left and right margins
// they do nothing.
func (t *Terminal) insertChars(n int) {
	t.cur.pending = false
	if m := &t.margins; t.cur.x >= m.left && t.cur.x <= m.right {
		t.insertCells(t.row(t.cur.y), t.cur.x, n, m.right+1)
	}
}

func (t *Terminal) deleteChars(n int) {
	t.cur.pending = false
	if m := &t.margins; t.cur.x >= m.left && t.cur.x <= m.right {
		t.deleteCells(t.row(t.cur.y), t.cur.x, n, m.right+1)
	}
}

// insertLines is IL, deleteLines DL.
func (t *Terminal) insertLines(n int) {
	if !t.inMargins() {
		return
	}
	if t.fullWidth() {
		t.insertRows(t.cur.y, n)
	} else {
		t.shiftBlockDown(t.cur.y, n)
	}
	t.cur.x, t.cur.pending = t.margins.left, false
}

func (t *Terminal) deleteLines(n int) {
	if !t.inMargins() {
		return
	}
	if t.fullWidth() {
		t.deleteRows(t.cur.y, n)
	} else {
		t.shiftBlockUp(t.cur.y, n)
	}
	t.cur.x, t.cur.pending = t.margins.left, false
}

// insertColumns is DECIC, and SR when x is the left margin: n blank columns
// at x in every row of the scrolling region. A pending wrap stays, as when
// scrolling up and down.
func (t *Terminal) insertColumns(x, n int) {
	if !t.inMargins() {
		return
	}
	for y := t.margins.top; y <= t.margins.bottom; y++ {
		t.insertCells(t.row(y), x, n, t.margins.right+1)
	}
}

// deleteColumns is DECDC, and SL when x is the left margin.
func (t *Terminal) deleteColumns(x, n int) {
	if !t.inMargins() {
		return
	}
	for y := t.margins.top; y <= t.margins.bottom; y++ {
		t.deleteCells(t.row(y), x, n, t.margins.right+1)
	}
}
