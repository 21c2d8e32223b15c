package vt

// margins is the scrolling region, from 0 and inclusive. Left and right are
// the whole width unless mode 69 is set.
type margins struct{ top, bottom, left, right int }

func (t *Terminal) fullWidth() bool {
	return t.margins.left == 0 && t.margins.right == t.cols-1
}

// inMargins reports whether the cursor is inside the scrolling region.
func (t *Terminal) inMargins() bool {
	m := &t.margins
	return t.cur.y >= m.top && t.cur.y <= m.bottom && t.cur.x >= m.left && t.cur.x <= m.right
}

// lineFeed moves down one row, scrolling at the bottom margin.
func (t *Terminal) lineFeed() {
	if t.cur.y == t.margins.bottom {
		if t.cur.x >= t.margins.left && t.cur.x <= t.margins.right {
			t.scrollUp(1)
		}
	} else if t.cur.y < t.rows-1 {
		t.cur.y++
	}
}

// reverseIndex moves up one row, scrolling at the top margin.
func (t *Terminal) reverseIndex() {
	t.cur.pending = false
	if t.cur.y == t.margins.top {
		if t.cur.x >= t.margins.left && t.cur.x <= t.margins.right {
			t.scrollDown(1)
		}
	} else if t.cur.y > 0 {
		t.cur.y--
	}
}

// scrollUp moves the scrolling region's rows up. Rows that leave the main
// screen at its very top go to the scrollback, as in xterm also when a bottom
// margin is set.
func (t *Terminal) scrollUp(n int) {
	m := &t.margins
	n = min(n, m.bottom-m.top+1)
	switch {
	case !t.fullWidth():
		t.lostRows++
		t.shiftBlockUp(m.top, n)
	case m.top == 0 && !t.altActive():
		for blank := t.blank(); n > 0; n-- {
			t.pushTop(blank)
		}
	default:
		t.lostRows++
		t.deleteRows(m.top, n)
	}
}

// LostRows counts how often rows left a scrolling region and went nowhere.
func (t *Terminal) LostRows() uint64 { return t.lostRows }

// pushTop moves the top row into the scrollback and opens an empty row at the
// bottom margin.
func (t *Terminal) pushTop(blank cell) {
	rows := t.screen.rows
	bottom := t.margins.bottom
	if t.below != nil && bottom == t.rows-1 {
		t.dropBelow()
	}
	if t.deep != nil {
		t.wrapDeep()
	}
	fresh := t.hist.push(rows[0])
	fresh.clear(blank)
	if bottom == t.rows-1 {
		t.screen.roll(fresh)
	} else {
		copy(rows[:bottom], rows[1:bottom+1])
		rows[bottom] = fresh
	}
	t.anchor.col = 0
	if bottom > 0 && bottom < t.rows-1 {
		rows[bottom-1].endChanged()
	}
}

// roll takes the top row away and adds one at the bottom.
func (b *buffer) roll(fresh *line) {
	if n := len(b.rows); cap(b.rows) == n {
		if len(b.room) == 0 {
			b.room = make([]*line, 4*n)
		}
		b.rows = b.room[:copy(b.room, b.rows)]
	}
	b.rows = append(b.rows[1:], fresh)
}

// scrollDown moves the scrolling region's rows down.
func (t *Terminal) scrollDown(n int) {
	m := &t.margins
	n = min(n, m.bottom-m.top+1)
	if !t.fullWidth() {
		t.shiftBlockDown(m.top, n)
		return
	}
	t.insertRows(m.top, n)
}

// deleteRows removes n rows at y; those below, down to the bottom margin, move
// up. Nothing goes to the scrollback.
func (t *Terminal) deleteRows(y, n int) {
	bottom := t.margins.bottom
	n = min(n, bottom-y+1)
	t.unlink(y)
	t.unlink(bottom + 1)
	if bottom == t.rows-1 {
		t.dropBelow()
	}
	part := t.screen.rows[y : bottom+1]
	rotate(part, n)
	blank := t.blank()
	for _, l := range part[len(part)-n:] {
		l.clear(blank)
	}
	if rest := len(part) - n; rest > 0 {
		part[rest-1].endChanged()
	}
}

// insertRows opens n empty rows at y; those below move down to the bottom margin.
func (t *Terminal) insertRows(y, n int) {
	bottom := t.margins.bottom
	n = min(n, bottom-y+1)
	t.unlink(y)
	t.unlink(bottom + 1)
	if bottom == t.rows-1 {
		t.dropBelow()
	}
	part := t.screen.rows[y : bottom+1]
	rotate(part, len(part)-n)
	blank := t.blank()
	for _, l := range part[:n] {
		l.clear(blank)
	}
	part[len(part)-1].endChanged()
}

// unlink notes that the row above y no longer runs on into row y.
func (t *Terminal) unlink(y int) {
	if y > 0 {
		t.row(y - 1).endChanged()
	} else if l := t.hist.last(); l != nil && !t.altActive() {
		l.endChanged()
	}
}

// rotate moves the first n rows to the end.
func rotate(rows []*line, n int) {
	if n == 0 || n == len(rows) {
		return
	}
	if n == 1 {
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = first
		return
	}
	if n == len(rows)-1 {
		last := rows[len(rows)-1]
		copy(rows[1:], rows)
		rows[0] = last
		return
	}
	kept := append([]*line(nil), rows[:n]...)
	copy(rows, rows[n:])
	copy(rows[len(rows)-n:], kept)
}

// shiftBlockUp moves the cells between the left and right margins up by n,
// from row y to the bottom margin.
func (t *Terminal) shiftBlockUp(y, n int) {
	m := &t.margins
	n = min(n, m.bottom-y+1)
	t.openBlock(y)
	for i := y; i+n <= m.bottom; i++ {
		copy(t.row(i).edit()[m.left:m.right+1], t.row(i + n).cells()[m.left:m.right+1])
		t.row(i).moveStamps(m.left, t.row(i+n), m.left, m.right+1-m.left)
	}
	blank := t.blank()
	for i := m.bottom - n + 1; i <= m.bottom; i++ {
		t.row(i).erase(m.left, m.right+1, blank)
	}
}

func (t *Terminal) shiftBlockDown(y, n int) {
	m := &t.margins
	n = min(n, m.bottom-y+1)
	t.openBlock(y)
	for i := m.bottom; i-n >= y; i-- {
		copy(t.row(i).edit()[m.left:m.right+1], t.row(i - n).cells()[m.left:m.right+1])
		t.row(i).moveStamps(m.left, t.row(i-n), m.left, m.right+1-m.left)
	}
	blank := t.blank()
	for i := y; i < y+n; i++ {
		t.row(i).erase(m.left, m.right+1, blank)
	}
}

// openBlock cuts wide characters at the left and right margins, from row y to
// the bottom margin, so that cells between the margins can move alone.
func (t *Terminal) openBlock(y int) {
	m := &t.margins
	if m.bottom == t.rows-1 {
		t.dropBelow()
	}
	for i := y; i <= m.bottom; i++ {
		l := t.row(i)
		t.splitAt(l, m.left)
		t.splitAt(l, m.right+1)
		if m.right == t.cols-1 {
			l.endChanged()
		}
	}
}
