package vt

// area reads a rectangle's four numbers from parameter i on, relative to the
// margins under origin mode. The result is inclusive and inside the screen.
func (t *Terminal) area(i int) (top, left, bottom, right int, ok bool) {
	p := &t.parser.params
	top, left = p.get(i, 1)-1, p.get(i+1, 1)-1
	bottom, right = p.get(i+2, t.rows)-1, p.get(i+3, t.cols)-1
	lastRow, lastCol := t.rows-1, t.cols-1
	if t.cur.origin {
		m := &t.margins
		top, bottom = top+m.top, bottom+m.top
		left, right = left+m.left, right+m.left
		lastRow, lastCol = m.bottom, m.right
	}
	bottom, right = min(bottom, lastRow), min(right, lastCol)
	return top, left, bottom, right, top <= bottom && left <= right
}

// rectangle is DECFRA, DECERA, DECSERA and DECCRA.
func (t *Terminal) rectangle(final byte) {
	p := &t.parser.params
	switch final {
	case 'x':
		if top, left, bottom, right, ok := t.area(1); ok {
			t.fillArea(rune(p.get(0, 0)), top, left, bottom, right)
		}
	case 'z', '{':
		if top, left, bottom, right, ok := t.area(0); ok {
			for y := top; y <= bottom; y++ {
				t.eraseRange(t.row(y), left, right+1, final == '{')
			}
		}
	case 'v':
		if top, left, bottom, right, ok := t.area(0); ok {
			t.copyArea(top, left, bottom, right)
		}
	}
}

func (t *Terminal) fillArea(r rune, top, left, bottom, right int) {
	if r < 0x20 || r > 0x7e && r < 0xa0 || r > 0xff || propsOf(r).width() != 1 {
		return
	}
	c := t.penBits() | cell(r)
	for y := top; y <= bottom; y++ {
		l := t.row(y)
		if end := min(right+1, l.room()); left < end {
			t.eraseCells(l, left, end)
			fill(l.edit()[left:end], c)
			l.written(left, end-left, t.stamp)
		}
	}
}

// copyArea is DECCRA. There is one page, so page numbers are not looked at.
func (t *Terminal) copyArea(top, left, bottom, right int) {
	p := &t.parser.params
	toTop, toLeft := p.get(5, 1)-1, p.get(6, 1)-1
	lastRow, lastCol := t.rows-1, t.cols-1
	if t.cur.origin {
		toTop, toLeft = toTop+t.margins.top, toLeft+t.margins.left
		lastRow, lastCol = t.margins.bottom, t.margins.right
	}
	height, width := min(bottom-top, lastRow-toTop)+1, min(right-left, lastCol-toLeft)+1
	if height <= 0 || width <= 0 {
		return
	}
	// The source may overlap the target: take a copy.
	source := make([]cell, 0, height*width)
	for y := range height {
		cells := t.row(top + y).cells()[left : left+width]
		at := len(source)
		source = append(source, cells...)
		if half := &source[at]; *half&cellSpacer != 0 {
			*half = t.blankOf(*half)
		}
	}
	for y := range height {
		l := t.row(toTop + y)
		n := min(width, l.room()-toLeft)
		if n <= 0 {
			continue
		}
		cells := source[y*width : y*width+n]
		if half := &cells[n-1]; *half&cellWide != 0 && t.cols > 1 {
			*half = t.blankOf(*half)
		}
		t.splitAt(l, toLeft)
		t.splitAt(l, toLeft+n)
		if toLeft+n == t.cols {
			l.endChanged()
		}
		to := l.edit()[toLeft : toLeft+n]
		copy(to, cells)
		for x := range to {
			to[x] &^= cellPad
		}
		l.written(toLeft, n, t.stamp)
	}
}
