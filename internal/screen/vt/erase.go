package vt

// eraseCells blanks columns [from, to) of a row.
func (t *Terminal) eraseCells(l *line, from, to int) {
	if l.size != SingleSize {
		if to = min(to, l.room()); from >= to {
			return
		}
	}
	t.splitAt(l, from)
	t.splitAt(l, to)
	if to == l.cols() {
		l.endChanged()
	}
	l.erase(from, to, t.blank())
	l.moved.erase(from, to)
	if to-from == l.room() {
		l.stamp = 0
	} else if l.stamp == mixed && to == l.cols() {
		l.endStamps(from)
	}
}

// eraseUnprotected blanks columns [from, to) but for what DECSCA protects.
func (t *Terminal) eraseUnprotected(l *line, from, to int) {
	blank := t.blank()
	for x := from; x < min(to, l.room()); x++ {
		c := l.cells()[x]
		if c&cellProtected != 0 {
			continue
		}
		if c&(cellWide|cellSpacer) != 0 {
			t.splitAt(l, x)
			t.splitAt(l, x+1)
		}
		if x == l.cols()-1 {
			l.endChanged()
		}
		l.edit()[x] = blank
	}
}

func (t *Terminal) eraseRange(l *line, from, to int, selective bool) {
	if selective {
		t.eraseUnprotected(l, from, to)
	} else {
		t.eraseCells(l, from, to)
	}
}

// eraseInLine is EL and DECSEL. As in xterm only erasing to the right ends a
// pending wrap.
func (t *Terminal) eraseInLine(how int, selective bool) {
	l := t.row(t.cur.y)
	switch how {
	case 0:
		t.cur.pending = false
		t.eraseRange(l, t.cur.x, t.cols, selective)
	case 1:
		t.eraseRange(l, 0, t.cur.x+1, selective)
	case 2:
		t.eraseRange(l, 0, t.cols, selective)
	}
}

// eraseInDisplay is ED and DECSED.
func (t *Terminal) eraseInDisplay(how int, selective bool) {
	switch how {
	case 0:
		t.eraseInLine(0, selective)
		t.eraseRows(t.cur.y+1, t.rows, selective)
	case 1:
		t.eraseInLine(1, selective)
		t.eraseRows(0, t.cur.y, selective)
	case 2:
		t.eraseRows(0, t.rows, selective)
		t.cur.pending = false
		t.anchor = anchor{}
	case 3:
		if !selective && !t.altActive() {
			t.ClearScrollback()
		}
		if t.restore.open {
			// The end of dumpIntro. Dumps of older versions do not name mode 2027:
			// those always joined characters.
			t.modes.set(modeClusters, true)
			t.SetSeq(0) // nor the numbers of events
		}
	}
}

func (t *Terminal) eraseRows(from, to int, selective bool) {
	if to == t.rows {
		t.dropBelow()
	}
	if selective {
		for y := from; y < to; y++ {
			t.eraseUnprotected(t.row(y), 0, t.cols)
		}
		return
	}
	blank := t.blank()
	if from < to {
		t.unlink(from)
	}
	for y := from; y < to; y++ {
		t.row(y).clear(blank)
	}
}

// eraseChars is ECH.
func (t *Terminal) eraseChars(n int) {
	t.cur.pending = false
	t.eraseCells(t.row(t.cur.y), t.cur.x, min(t.cur.x+n, t.cols))
}

// alignmentTest is DECALN: a screen full of E.
func (t *Terminal) alignmentTest() {
	t.margins = margins{bottom: t.rows - 1, right: t.cols - 1}
	t.cur.origin = false
	t.dropBelow()
	for y := range t.rows {
		l := t.row(y)
		l.clear(0)
		fill(l.edit(), 'E')
		l.stamp = t.stamp
	}
	t.unlink(0)
	t.moveTo(0, 0)
}
