package vt

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
	stamps := was.appendFitted(nil, was.cells, from, to)
	l.setStamps(stamps[:min(len(stamps), len(l.cells))])
}
