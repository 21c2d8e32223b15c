package vt

// Row is a view of one row, valid until the next Write or Resize.
type Row struct {
	t *Terminal
	l *line
}

// Cell is one character position.
type Cell struct {
	Text  string // "" = blank, or a part of an image: see [Row.Tiles]
	Width int    // 0 = second half of a wide character, 1, 2
	Style Style
}

// PromptMarks is the set of shell integration marks (OSC 133) that were given
// while the cursor stood in a row.
type PromptMarks uint8

const (
	PromptStart PromptMarks = 1 << iota // A
	InputStart                          // B
	OutputStart                         // C
	CommandEnd                          // D
)

// Row returns row i: 0 is the top of the screen, -1 the newest row of the
// scrollback, -ScrollbackLen() the oldest. Above the alternate screen is the
// main screen's scrollback.
func (t *Terminal) Row(i int) Row {
	if i < 0 {
		t.wrapDeep()
		return Row{t, t.histLine(t.hist.len() + i)}
	}
	return Row{t, t.row(i)}
}

// Len is the number of cells.
func (r Row) Len() int { return r.l.cols() }

// Cell returns the cell in column col.
func (r Row) Cell(col int) Cell {
	c := r.l.cells()[col]
	return Cell{Text: r.t.shownText(c), Width: r.Width(col), Style: r.t.StyleOf(c.style())}
}

// StyleID is the number of the style in column col; 0 is plain. Equal numbers
// mean equal styles.
func (r Row) StyleID(col int) uint32 { return r.l.cells()[col].style() }

// Width is the width of the cell in column col: 0, 1 or 2.
func (r Row) Width(col int) int { return min(r.l.cells()[col].width(), r.l.cols()) }

// Wrapped reports whether the row's text continues in the next row.
func (r Row) Wrapped() bool { return r.l.wrapped }

// Prompt returns the row's shell integration marks.
func (r Row) Prompt() PromptMarks { return r.l.prompt }

// AppendCell appends the text of the cell in column col; a blank, and a part of
// an image, add nothing.
func (r Row) AppendCell(dst []byte, col int) []byte {
	c := r.l.cells()[col]
	if r.t.showsImage(c) {
		return dst
	}
	return r.t.appendContent(dst, c)
}

// TextLen is the number of cells without trailing blanks and spaces.
func (r Row) TextLen() int {
	if r.l.typed.on {
		return r.l.typed.textLen()
	}
	cells := r.l.grid
	n := len(cells)
	for n > 0 && (cells[n-1].blank() || cells[n-1].content() == ' ' || r.t.showsImage(cells[n-1])) {
		n--
	}
	return n
}

// AppendText appends the row's text without trailing blanks and spaces.
func (r Row) AppendText(dst []byte) []byte {
	if r.l.typed.on {
		return r.l.typed.appendText(dst)
	}
	for _, c := range r.l.cells()[:r.TextLen()] {
		switch v := c.content(); {
		case c&cellSpacer != 0:
		case v == 0:
			dst = append(dst, ' ')
		case v < 0x80:
			dst = append(dst, byte(v))
		case r.t.showsImage(c):
			dst = append(dst, ' ')
		default:
			dst = r.t.appendContent(dst, v)
		}
	}
	return dst
}

// AppendText appends the canonical text of the screen: each row without
// trailing blanks and spaces, rows joined by newlines, no empty rows at the end.
func (t *Terminal) AppendText(dst []byte) []byte {
	keep := len(dst)
	for y := range t.rows {
		if y > 0 {
			dst = append(dst, '\n')
		}
		n := len(dst)
		if dst = t.Row(y).AppendText(dst); len(dst) > n {
			keep = len(dst)
		}
	}
	return dst[:keep]
}

func (t *Terminal) text(c cell) string {
	c = c.content()
	switch {
	case c == 0:
		return ""
	case c.tile():
		return " "
	case c&cellCluster != 0:
		return t.clusters.list[c&^cellCluster].text
	}
	return string(rune(c))
}

// shownText is the text of a cell for readers: a part of an image is a blank.
func (t *Terminal) shownText(c cell) string {
	if t.showsImage(c) {
		return ""
	}
	return t.text(c)
}

// AppendWritten appends the text of the cells [from, to). Blanks that the program
// wrote are kept, unlike with AppendText; cells that it never wrote at the end
// are not.
func (r Row) AppendWritten(dst []byte, from, to int) []byte {
	begin := len(dst)
	if from == 0 && to >= r.Len() {
		if dst = r.AppendText(dst); r.isAllWritten(dst[begin:]) {
			return dst
		}
		dst = dst[:begin]
	}
	end := begin
	for col := from; col < min(to, r.Len()); col++ {
		if r.Width(col) == 0 {
			continue // the second half of a wide character
		}
		n := len(dst)
		if dst = r.AppendCell(dst, col); len(dst) == n {
			dst = append(dst, ' ')
			continue
		}
		end = len(dst)
	}
	return dst[:end]
}

// isAllWritten reports whether the row's text without trailing blanks is all that
// was written. That is so for nearly every row, and cheap to tell for ASCII.
func (r Row) isAllWritten(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return len(text) == r.Len() || len(r.AppendCell(nil, len(text))) == 0
}
