package vt

// anchor is the position at which the screen began before resizes pushed rows
// into the scrollback: up rows above its top, at a column. Growing the screen
// brings these rows back.
type anchor struct{ up, col int }

// Resize changes the size. The main screen and its scrollback are wrapped
// anew, and the cursor stays with its character. The alternate screen is cut
// or padded: its program will redraw it. Margins are reset.
func (t *Terminal) Resize(cols, rows int) { t.ResizeFollowing(cols, rows) }

// ResizeFollowing is Resize for a caller that keeps absolute row numbers: each
// is updated to the new number of its row's text. Pending marks are updated
// too.
func (t *Terminal) ResizeFollowing(cols, rows int, lines ...*int64) {
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.gen++
	t.forgetLast()
	alt := t.altActive()
	for i := range t.outbox.marks {
		lines = append(lines, &t.outbox.marks[i].Line)
	}
	t.resizeMain(cols, rows, lines)
	if t.alt.rows != nil {
		t.alt.rows = t.clip(t.alt.rows, cols, rows)
	}
	if s := &t.alt.saved; s.set {
		s.x, s.y = min(s.x, cols-1), min(s.y, rows-1)
	}
	if cols != t.cols {
		t.alt.saved.pending = false
		if alt {
			t.cur.pending = false
		}
	}
	t.cols, t.rows = cols, rows
	t.cfg.Cols, t.cfg.Rows = cols, rows
	t.margins = margins{bottom: rows - 1, right: cols - 1}
	t.cur.x, t.cur.y = min(t.cur.x, cols-1), min(t.cur.y, rows-1)
	if t.modes.has(modeMargins) {
		t.singleRows() // rows may have come back
	}
	if t.modes.has(modeReportSize) {
		t.reportSize()
	}
}

// clip cuts or pads the rows of the alternate screen.
func (t *Terminal) clip(rows []*line, cols, n int) []*line {
	out := newLines(n, cols)
	for y, l := range rows[:min(len(rows), n)] {
		cells := l.cells()
		if cols != t.cols {
			l.endChanged()
			if t.cols == 1 {
				cells = widened(cells)
			}
			if cols == 1 {
				cells = narrowed(cells)
			} else {
				t.splitCells(cells, cols)
			}
		}
		copy(out[y].edit(), cells)
		out[y].wrapped, out[y].prompt, out[y].size = l.wrapped, l.prompt, l.size
		if l.size != SingleSize {
			t.cutHidden(out[y])
		}
		out[y].clipStamps(l, t.cols, cols)
	}
	out[n-1].wrapped = false
	return out
}

// splitCells blanks a wide character that crosses column x.
func (t *Terminal) splitCells(cells []cell, x int) {
	if x < len(cells) && cells[x]&cellSpacer != 0 {
		cells[x-1], cells[x] = t.blankOf(cells[x-1]), t.blankOf(cells[x])
	}
}

// resizeMain wraps the main screen and its scrollback anew and divides the
// result between them.
func (t *Terminal) resizeMain(cols, rows int, follow []*int64) {
	if len(follow) > 0 {
		t.wrapDeep()
	}
	near := t.nearRows(len(follow) > 0)
	hist := len(near)
	lines := append(near, t.main.rows...)
	lines = append(lines, t.below...)

	top := point{row: hist - t.anchor.up, col: t.anchor.col}
	saved := &t.main.saved
	savedAt := point{row: hist + min(saved.y, t.rows-1), col: min(saved.x, t.cols-1), after: saved.pending}
	cursor := point{row: hist + t.cur.y, col: t.cur.x, after: t.cur.pending}
	if t.altActive() {
		cursor = savedAt
		if !saved.set {
			cursor = point{row: hist}
		}
	}
	if cols != t.cols {
		w := rewrap{t: t, lines: lines, from: t.cols, to: cols, points: []*point{&top, &savedAt, &cursor}}
		for _, n := range follow {
			if at := *n - t.hist.first; at >= 0 && at < int64(len(lines)) {
				w.points = append(w.points, &point{row: int(at), follows: n})
			}
		}
		lines = w.run()
		for _, p := range w.points[3:] {
			*p.follows = t.hist.first + int64(p.row)
		}
	}

	used := cursor.row
	for i := len(lines) - 1; i > used; i-- {
		if !lines[i].empty() {
			used = i
		}
	}
	// The old top stays the top if all fits below it; the cursor stays in sight.
	first := max(0, min(max(top.row, used-rows+1), cursor.row))
	t.anchor = anchor{up: min(max(first-top.row, 0), t.hist.max), col: top.col}
	t.setHistory(lines[:first], cols)
	t.setMain(lines[first:used+1], cols, rows)

	savedAt.row = min(max(savedAt.row-first, 0), rows-1)
	saved.x, saved.y, saved.pending = savedAt.col, savedAt.row, savedAt.after
	if !t.altActive() {
		t.cur.x, t.cur.y, t.cur.pending = cursor.col, cursor.row-first, cursor.after
	}
}

// setMain makes lines the main screen, padded to the number of rows, and what
// does not fit the rows below.
func (t *Terminal) setMain(lines []*line, cols, rows int) {
	screen := lines
	if n := rows - len(screen); n > 0 {
		screen = append(screen[:len(screen):len(screen)], newLines(n, cols)...)
	}
	t.main.rows, t.main.room = append([]*line(nil), screen[:rows]...), nil
	t.keepBelow(screen[rows:])
}

// empty reports that nothing was ever written to the row, or all was erased.
func (l *line) empty() bool {
	for _, c := range l.cells() {
		if c != 0 {
			return false
		}
	}
	return l.prompt == 0 && l.size == SingleSize
}
