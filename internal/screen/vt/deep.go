package vt

// deepRows is the part of the scrollback that resizes cannot bring back to the
// screen. Wrapping it anew takes time, and only those who read it see the
// difference: so a resize only notes what is to be done, and many resizes in a
// row are done at once when it is needed.
type deepRows struct {
	rows  history // as wrapped at cols
	cols  int
	steps []deepStep
}

// deepStep is one resize that is still to be done.
type deepStep struct {
	cols int
	room int // the rows that may be kept then
}

// nearRows takes the rows off the scrollback that a resize may bring back to the
// screen, and those that run on into them; or all.
func (t *Terminal) nearRows(all bool) []*line {
	h := &t.hist
	from := max(h.len()-t.anchor.up, 0)
	var scratch line
	scratch.grid = make([]cell, t.cols)
	for from > 0 && (all || h.at(from-1, &scratch).wrapped) {
		from--
	}
	if t.deep != nil && from > 0 {
		// Rows that were wrapped at other widths go to the deep ones.
		n := h.len() - from
		t.wrapDeep()
		from = h.len() - n
	}
	near := make([]*line, 0, h.len()-from+2*t.rows)
	for i, l := range newLines(h.len()-from, t.cols) {
		near = append(near, h.at(from+i, l))
	}
	h.cut(from)
	return near
}

// setHistory adds the rows that a resize leaves above the screen, which is to
// have so many columns. They are the history's then.
func (t *Terminal) setHistory(rows []*line, cols int) {
	h := &t.hist
	if t.deep == nil && cols == t.cols {
		for _, l := range rows {
			h.push(l)
		}
		return
	}
	if t.deep == nil && h.len() > 0 {
		t.deep = &deepRows{rows: *h, cols: t.cols}
		*h = history{max: h.max, first: h.first}
	}
	h.load(rows)
	if d := t.deep; d != nil {
		d.steps = append(d.steps, deepStep{cols: cols, room: max(0, h.max-len(rows))})
	}
}

// wrapDeep brings the whole scrollback up to date.
func (t *Terminal) wrapDeep() {
	d := t.deep
	if d == nil {
		return
	}
	t.deep = nil
	lines := logicalLines{t: t}
	lines.read(d)
	dropped := int64(0)
	for _, s := range d.steps {
		dropped += lines.resize(s)
	}
	rows := lines.rows(t.cols)
	for i, l := range newLines(t.hist.len(), t.cols) {
		rows = append(rows, t.hist.at(i, l))
	}
	t.hist.first += dropped
	t.hist.load(rows)
}

// logicalLine is a line as the program printed it, without the blanks at its
// end. Wide characters have two cells.
type logicalLine struct {
	cells   []cell
	stamp   stamp   // of all cells, or mixed
	stamps  []stamp // by cell
	rest    cell    // the blank that fills its last row
	prompts []place // the marks, by the start of the row they are in
	size    LineSize
	wide    bool
}

// logicalLines is a scrollback that is wrapped at no width.
type logicalLines struct {
	t       *Terminal
	list    []logicalLine
	special []*logicalLine // those that wrapAt changes
	checked map[int]int    // the room that was kept to, by width
}

// read joins the rows.
func (ls *logicalLines) read(d *deepRows) {
	lines := make([]*line, d.rows.len())
	for i, l := range newLines(len(lines), d.cols) {
		lines[i] = d.rows.at(i, l)
	}
	ls.list = make([]logicalLine, 0, len(lines))
	ls.checked = map[int]int{}
	w := rewrap{t: ls.t, lines: lines, from: d.cols}
	for i := 0; i < len(lines); {
		i = w.join(i)
		ls.list = append(ls.list, w.logical())
	}
	for i := range ls.list {
		if l := &ls.list[i]; l.rest != 0 || len(l.prompts) > 0 || l.size != SingleSize {
			ls.special = append(ls.special, l)
		}
	}
}

// logical copies the line that was joined.
func (w *rewrap) logical() logicalLine {
	cells := w.joined
	n := len(cells)
	l := logicalLine{stamp: w.stamp, size: w.size}
	if n > 0 && cells[n-1].blank() {
		l.rest = cells[n-1]
	}
	for n > 0 && cells[n-1].blank() {
		n--
	}
	l.cells = append([]cell(nil), cells[:n]...)
	if w.stamp == mixed {
		l.stamps = append([]stamp(nil), w.stamps[:n]...)
	}
	l.prompts = append([]place(nil), w.places...)
	for _, c := range l.cells {
		if c&cellSpacer != 0 {
			l.wide = true
			break
		}
	}
	return l
}

// rowEnd returns where the row that begins at pos ends, at a width.
func (l *logicalLine) rowEnd(pos, cols int) int {
	end := min(pos+cols, len(l.cells))
	if end < len(l.cells) && l.cells[end]&cellSpacer != 0 {
		if cols == 1 {
			return end + 1
		}
		return end - 1
	}
	return end
}

// count is the number of rows at a width.
func (l *logicalLine) count(cols int) int {
	if !l.wide {
		return max(1, (len(l.cells)+cols-1)/cols)
	}
	n := 0
	for pos := 0; pos < len(l.cells); n++ {
		pos = l.rowEnd(pos, cols)
	}
	return n
}

// skip returns where row n begins at a width.
func (l *logicalLine) skip(n, cols int) int {
	pos := 0
	for range n {
		pos = l.rowEnd(pos, cols)
	}
	return pos
}

// wrapAt does to marks, to the size and to the blank at the end what wrapping does.
func (l *logicalLine) wrapAt(cols int) {
	room, n := cols, len(l.cells)
	if cols == 1 {
		n = l.count(1) // which holds a wide character in one cell
	}
	if half := max(1, cols/2); n > half {
		l.size = SingleSize
	} else if l.size != SingleSize {
		room = half
	}
	begin, end := 0, l.rowEnd(0, cols)
	at := 0
	for {
		for ; at < len(l.prompts) && (l.prompts[at].offset < end || end == len(l.cells)); at++ {
			l.prompts[at].offset = begin
		}
		if end == len(l.cells) {
			break
		}
		begin, end = end, l.rowEnd(end, cols)
	}
	if full := end - begin; full == room || cols == 1 && full > 0 {
		l.rest = 0 // the last row has no room for it
	}
}

// resize does one step, and returns how many rows it dropped.
func (ls *logicalLines) resize(s deepStep) (dropped int64) {
	for _, l := range ls.special {
		l.wrapAt(s.cols)
	}
	if room, ok := ls.checked[s.cols]; ok && room <= s.room {
		return 0 // rows only get fewer
	}
	ls.checked[s.cols] = s.room
	n := -s.room
	for i := range ls.list {
		n += ls.list[i].count(s.cols)
	}
	if n <= 0 {
		return 0
	}
	for left := n; left > 0; {
		l := &ls.list[0]
		if c := l.count(s.cols); c <= left {
			ls.list = ls.list[1:]
			left -= c
			continue
		}
		l.drop(l.skip(left, s.cols))
		left = 0
	}
	return int64(n)
}

// drop removes the first n cells.
func (l *logicalLine) drop(n int) {
	l.cells = l.cells[n:]
	if l.stamp == mixed {
		l.stamps = l.stamps[n:]
	}
	kept := l.prompts[:0]
	for _, p := range l.prompts {
		if p.offset >= n {
			p.offset -= n
			kept = append(kept, p)
		}
	}
	l.prompts = kept
}

// rows wraps the lines.
func (ls *logicalLines) rows(cols int) []*line {
	w := rewrap{t: ls.t, to: cols, out: make([]*line, 0, len(ls.list))}
	for i := range ls.list {
		l := &ls.list[i]
		w.joined = append(w.joined[:0], l.cells...)
		if l.rest != 0 {
			w.joined = append(w.joined, l.rest)
		}
		w.places, w.stamp, w.stamps, w.size = l.prompts, l.stamp, l.stamps, l.size
		if cols == 1 {
			w.narrow()
		}
		w.wrap()
	}
	return w.out
}

// narrow makes the line at hand fit a screen of one column.
func (w *rewrap) narrow() {
	narrow := 0
	before := make([]int, len(w.joined)+1) // cells that stay, before each
	var stamps []stamp
	for x, c := range w.joined {
		before[x] = narrow
		if c&cellSpacer == 0 {
			if narrow++; w.stamp == mixed && x < len(w.stamps) {
				stamps = append(stamps, w.stamps[x])
			}
		}
	}
	before[len(w.joined)] = narrow
	for i := range w.places {
		w.places[i].offset = before[min(w.places[i].offset, len(w.joined))]
	}
	w.joined, w.stamps = narrowed(w.joined), stamps
}
