package vt

// point is a place in a list of rows that follows its character when the rows
// are wrapped anew.
type point struct {
	row, col int
	after    bool   // just past col: a wrap is pending there
	follows  *int64 // the caller's row number, or nil
}

// rewrap joins rows that were wrapped at one width and wraps them at another.
type rewrap struct {
	t        *Terminal
	lines    []*line
	from, to int
	points   []*point

	out    []*line
	spare  []*line
	joined []cell // the logical line at hand
	stamp  stamp  // of all its characters, or mixed
	stamps []stamp
	places []place
	size   LineSize
	byRow  map[int][]*point // points by their old row
}

// place is a point, or the start of an old row, as an offset into a logical line.
type place struct {
	point  *point // or nil
	offset int
	prompt PromptMarks // of the old row that begins here
}

func (w *rewrap) run() []*line {
	w.out = make([]*line, 0, len(w.lines))
	w.byRow = map[int][]*point{}
	for _, p := range w.points {
		w.byRow[p.row] = append(w.byRow[p.row], p)
	}
	for i := 0; i < len(w.lines); {
		i = w.join(i)
		w.wrap()
	}
	return w.out
}

// fit makes cells fit to, or from, a screen of one column, which holds wide
// characters in one cell.
func (w *rewrap) fit(cells []cell) []cell {
	if w.from == 1 {
		cells = widened(cells)
	}
	if w.to == 1 {
		cells = narrowed(cells)
	}
	return cells
}

// logicalEnd returns the last row of the logical line that begins at row i.
// Rows that were erased since are no continuation: joined, they would vanish.
func logicalEnd(lines []*line, i int) int {
	end := i
	for lines[end].wrapped && end+1 < len(lines) && lines[end+1].size == SingleSize {
		end++
	}
	for end > i && lines[end].textless() {
		end--
	}
	return end
}

// unpadded returns row i's cells without the blank at the end that is left by
// a wide character that moved to the next row, if it is still there.
func unpadded(lines []*line, i int) []cell {
	cells := lines[i].cells()
	n := lines[i].room()
	cells = cells[:n]
	if cells[n-1]&cellPad != 0 && i+1 < len(lines) && lines[i+1].cells()[0]&cellWide != 0 {
		return cells[:n-1]
	}
	return cells
}

func (l *line) textless() bool {
	for _, c := range l.cells() {
		if !c.blank() {
			return false
		}
	}
	return true
}

// join collects the logical line that begins at row i and returns the row after it.
func (w *rewrap) join(i int) int {
	w.joined, w.places = w.joined[:0], w.places[:0]
	end := logicalEnd(w.lines, i)
	w.size = w.lines[i].size
	w.joinStamps(i, end)
	for ; i <= end; i++ {
		l := w.lines[i]
		start := len(w.joined)
		if l.prompt != 0 {
			w.places = append(w.places, place{offset: start, prompt: l.prompt})
		}
		cells := unpadded(w.lines, i)
		for _, p := range w.byRow[i] {
			before := min(p.col, len(cells)-1)
			if p.after {
				before++
			}
			w.places = append(w.places, place{point: p, offset: start + len(w.fit(cells[:before]))})
		}
		cells = w.fit(cells)
		w.joined = append(w.joined, cells...)
		if n := len(w.joined); n > 0 {
			w.joined[n-1] &^= cellPad
		}
	}
	return i
}

// wrap writes the logical line at the new width. Trailing blanks are dropped,
// but their background is extended to the end of the last row. A double row
// that no longer fits becomes single.
func (w *rewrap) wrap() {
	cells := w.joined
	n := len(cells)
	var rest cell
	if n > 0 && cells[n-1].blank() {
		rest = cells[n-1]
	}
	for n > 0 && cells[n-1].blank() {
		n--
	}
	cells = cells[:n]
	pos := 0
	for {
		l := w.newLine()
		k := min(w.to, len(cells)-pos)
		if pos+k < len(cells) && cells[pos+k]&cellSpacer != 0 {
			k-- // a wide character does not fit
		}
		copy(l.edit(), cells[pos:pos+k])
		if l.stamp = w.stamp; w.stamp == mixed {
			l.setStamps(w.stamps[pos : pos+k])
		}
		last := pos+k == len(cells)
		switch {
		case last:
			if pos == 0 && k <= max(1, w.to/2) {
				l.size = w.size
			}
			fill(l.edit()[min(k, l.room()):l.room()], rest)
		case k < w.to:
			l.edit()[k] = cellPad
		}
		l.wrapped = !last
		w.relocate(l, pos, k, last)
		pos += k
		if last {
			return
		}
	}
}

// relocate sets the new row and column of the places in [pos, pos+k), and in the
// last row of all places after it.
func (w *rewrap) relocate(l *line, pos, k int, last bool) {
	row := len(w.out) - 1
	for _, pl := range w.places {
		if pl.offset < pos || pl.offset >= pos+k && !last {
			continue
		}
		if pl.point == nil {
			l.prompt |= pl.prompt
			continue
		}
		x, p := pl.offset-pos, pl.point
		p.row, p.col = row, min(x, w.to-1)
		// Just past a full row's text is where a wrap is pending.
		p.after = x == w.to && k == w.to
	}
}

func (w *rewrap) newLine() *line {
	if len(w.spare) == 0 {
		w.spare = newLines(64, w.to)
	}
	l := w.spare[0]
	w.spare = w.spare[1:]
	w.out = append(w.out, l)
	return l
}

// widened adds the second cell of wide characters, which a screen of one
// column does not have; narrowed removes it.
func widened(cells []cell) []cell {
	out := make([]cell, 0, 2*len(cells))
	for _, c := range cells {
		out = append(out, c)
		if c&cellWide != 0 {
			out = append(out, c&^(contentMask|cellWide)|cellSpacer)
		}
	}
	return out
}

func narrowed(cells []cell) []cell {
	out := make([]cell, 0, len(cells))
	for _, c := range cells {
		if c&cellSpacer == 0 {
			out = append(out, c)
		}
	}
	return out
}

// joinStamps collects the stamps of the logical line that is rows i to end.
func (w *rewrap) joinStamps(i, end int) {
	w.stamp, w.stamps = w.lines[i].stamp, w.stamps[:0]
	for _, l := range w.lines[i : end+1] {
		switch {
		case l.stamp == 0:
		case w.stamp == 0:
			w.stamp = l.stamp
		case l.stamp != w.stamp:
			w.stamp = mixed
		}
	}
	if w.stamp != mixed {
		return
	}
	for ; i <= end; i++ {
		w.stamps = w.lines[i].appendFitted(w.stamps, unpadded(w.lines, i), w.from, w.to)
	}
}

// appendFitted appends the stamps of a row's cells. Where the cells come from
// or go to a screen of one column, they follow widened and narrowed.
func (l *line) appendFitted(dst []stamp, cells []cell, from, to int) []stamp {
	if from != 1 && to != 1 {
		return l.appendStamps(dst, len(cells))
	}
	for x, c := range cells {
		if to == 1 && c&cellSpacer != 0 {
			continue
		}
		dst = append(dst, l.stampAt(x))
		if from == 1 && to != 1 && c&cellWide != 0 {
			dst = append(dst, l.stampAt(x))
		}
	}
	return dst
}

// clipStamps gives a row of the alternate screen the stamps of the row that it
// was before the screen's width changed.
func (l *line) clipStamps(was *line, from, to int) {
	stamps := was.appendFitted(nil, was.cells(), from, to)
	l.setStamps(stamps[:min(len(stamps), l.cols())])
}
