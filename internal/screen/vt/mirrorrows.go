package vt

import "strconv"

// mirrorGap is how many cells between two changed ones are drawn again, rather
// than skipped by a cursor movement, which is about as long.
const mirrorGap = 6

// row makes the player's row y show row i of the source.
func (m *Mirror) row(y, i int) {
	want, have := m.covered(i), m.player.row(y)
	if want.size != have.size {
		m.size(y, SingleSize)
	}
	for x := 0; x < want.cols(); {
		from, to := m.changed(want, have, x)
		if from == to {
			break
		}
		m.draw(y, want, from, to)
		x = to
	}
	m.flush()
	if want.size != have.size {
		m.size(y, want.size)
	}
	m.wrap(y, want)
}

// size gives the characters of the player's row y a size.
func (m *Mirror) size(y int, size LineSize) {
	m.moveTo(y, 0)
	m.d.b = append(m.d.b, 0x1b, '#', sizeCodes[size])
	m.flush()
}

// covered returns a copy of row i of the source in which covered cells hold
// the mask. It is valid until the next call.
func (m *Mirror) covered(i int) *line {
	l := m.source.Row(i).l
	m.want.grid = append(m.want.grid[:0], l.cells()...)
	m.want.wrapped, m.want.size = l.wrapped, l.size
	cells := m.want.grid
	for x := range cells {
		if cells[x] &^= cellProtected; cells[x].tile() {
			cells[x] = m.source.blankOf(cells[x])
		}
	}
	if m.cover.Cells == nil {
		return &m.want
	}
	for x, hide := range m.cover.Cells(i) {
		if !hide {
			continue
		}
		m.mask(&cells[x])
		if x > 0 && l.cells()[x]&cellSpacer != 0 {
			m.mask(&cells[x-1])
		}
		if x+1 < len(cells) && l.cells()[x+1]&cellSpacer != 0 {
			m.mask(&cells[x+1])
		}
	}
	clear(cells[m.want.room():]) // nobody sees them
	return &m.want
}

// mask keeps nothing of a cell but its style.
func (m *Mirror) mask(c *cell) { *c = *c>>styleShift<<styleShift | cell(m.cover.Mask) }

// changed returns the next columns from x on that must be drawn, with small
// gaps between them. No character stands across their borders.
func (m *Mirror) changed(want, have *line, x int) (from, to int) {
	n := want.cols()
	if m.redraw {
		return x, n
	}
	for x < n && m.same(want.cells()[x], have.cells()[x]) {
		x++
	}
	if x == n {
		return n, n
	}
	from, to = x, x+1
	for x = to; x < n && x < to+mirrorGap; x++ {
		if !m.same(want.cells()[x], have.cells()[x]) {
			to = x + 1
		}
	}
	for from > 0 && (want.cells()[from]|have.cells()[from])&cellSpacer != 0 {
		from--
	}
	for to < n && (want.cells()[to]|have.cells()[to])&cellSpacer != 0 {
		to++
	}
	return from, to
}

// same reports whether a cell of the source and one of the player look alike.
func (m *Mirror) same(want, have cell) bool {
	const flags = cellWide | cellSpacer
	switch {
	case want&^cellPad == have&^cellPad && want>>styleShift == 0 && want&cellCluster == 0:
		return true
	case (want^have)&flags != 0:
		return false
	case (want|have)&cellCluster == 0 && want.content() != have.content(),
		(want|have)&cellCluster != 0 && m.source.text(want) != m.player.text(have):
		return false
	}
	return m.sameStyle(m.source.styles.list[want.style()], m.player.styles.list[have.style()])
}

func (m *Mirror) sameStyle(want, have style) bool {
	wantLink, haveLink := want.link, have.link
	want.link, have.link = 0, 0
	if want != have {
		return false
	}
	if wantLink == 0 || m.dropLink(wantLink) {
		return haveLink == 0
	}
	return m.source.styles.link(wantLink) == m.player.styles.link(haveLink)
}

// draw draws columns [from, to) of the player's row y.
func (m *Mirror) draw(y int, l *line, from, to int) {
	m.moveTo(y, from)
	for _, c := range l.cells()[from:to] {
		if c&^cellPad != 0 {
			continue
		}
		if to == l.cols() {
			m.d.add("\x1b[K")
		} else {
			m.d.control('X', to-from)
		}
		break
	}
	m.d.cells(l, from, to)
}

// moveTo moves the player's cursor, with a plain pen.
func (m *Mirror) moveTo(y, x int) {
	m.d.setPen(pen{})
	m.d.b = strconv.AppendInt(append(m.d.b, "\x1b["...), int64(y+1), 10)
	m.d.b = strconv.AppendInt(append(m.d.b, ';'), int64(x+1), 10)
	m.d.b = append(m.d.b, 'H')
	m.d.join = joinNone
}

// wrap makes the player's row y run on into the next, or stop there, as the
// source's row does: rows are joined again by players that resize, and where
// text is copied.
func (m *Mirror) wrap(y int, l *line) {
	want, n := l.wrapped && !l.endsBlank(), l.cols()
	if m.player.row(y).wrapped == want || want && y+1 == m.source.rows {
		return
	}
	last := n - 1
	if l.cells()[last]&cellPad != 0 && want {
		m.moveTo(y, last)
		m.d.add("\u3000\x1b[?7h") // too wide for the column that is left
		m.flush()
		return
	}
	if last > 0 && l.cells()[last]&cellSpacer != 0 {
		last--
	}
	m.draw(y, l, last, n)
	if want {
		m.d.setPen(pen{})
		m.d.add(breakJoin + " ") // the next row is drawn next, over it
	}
	m.flush()
}
