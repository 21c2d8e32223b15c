package host

import "den/internal/screen/vt"

// place is a position in the text of a screen: on the main screen by the
// absolute number of its line, on the alternate screen by its row.
type place struct {
	Line int64 `json:"line"`
	Col  int   `json:"col"`
	Alt  bool  `json:"alt,omitempty"`
}

// cursorPlace is where the next character goes.
func cursorPlace(term *vt.Terminal) place {
	cur := term.Cursor()
	p := place{Line: int64(cur.Row), Col: cur.Col, Alt: term.Modes().AltScreen}
	if cur.PendingWrap {
		p.Line, p.Col = p.Line+1, 0
	}
	if !p.Alt {
		p.Line += term.ScreenLine()
	}
	return p
}

// row returns the place's row on the screen, or false where it shows none.
func (p place) row(term *vt.Terminal) (int, bool) {
	y := p.Line
	if !p.Alt {
		y -= term.ScreenLine()
	}
	_, rows := term.Size()
	return int(y), p.Alt == term.Modes().AltScreen && y >= 0 && y < int64(rows)
}

// rowEnd is the end of the place's row.
func (p place) rowEnd(term *vt.Terminal) place {
	cols, _ := term.Size()
	p.Col = cols
	return p
}

// next returns the place after a cell, at the start of the next row where the
// row ends.
func (p place) next(term *vt.Terminal, width int) place {
	cols, _ := term.Size()
	if p.Col += max(1, width); p.Col >= cols {
		p.Line, p.Col = p.Line+1, 0
	}
	return p
}

// leftBy reports whether the cursor is in a row below the text that ends at the
// place.
func (p place) leftBy(term *vt.Terminal) bool {
	if p.Col == 0 {
		p.Line-- // the text filled the row above
	}
	y, ok := p.row(term)
	return !ok || term.Cursor().Row > y
}

// repeat is how much of a text stands on the screen from a place on.
type repeat struct {
	n     int   // bytes
	end   place // of them
	reach place // and of the blanks behind them that the text has there too, written or not
}

// atCursor reports whether the text ends where the cursor is, so that it may go
// on.
func (r repeat) atCursor(term *vt.Terminal) bool {
	cursor := cursorPlace(term)
	return r.n > 0 && cursor.Alt == r.end.Alt && !cursor.before(r.end) && !r.reach.before(cursor)
}

func (p place) before(q place) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// repeated compares a text with the screen from a place on. Text may go on in
// the next row, wherever the row ends. Blanks at its end do not count.
func repeated(term *vt.Terminal, at place, text string) repeat {
	cols, _ := term.Size()
	r := repeat{end: at, reach: at}
	for n := 0; n < len(text); {
		y, ok := at.row(term)
		if !ok || at.Col >= cols {
			break
		}
		row := term.Row(y)
		var room [16]byte
		cell := row.AppendCell(room[:0], at.Col)
		if len(cell) == 0 {
			cell = append(cell, ' ')
		}
		if !startsWith(text[n:], cell) {
			if string(cell) != " " || at.Col != cols-1 {
				break
			}
			at = at.next(term, 1) // a wide character did not fit there
			continue
		}
		n += len(cell)
		at = at.next(term, row.Width(at.Col))
		if r.reach = at; string(cell) != " " {
			r.n, r.end = n, at
		}
	}
	return r
}

// forget gives the characters in [from, to) that were written after event seq
// the number 0, as if no event had written them.
func forget(term *vt.Terminal, from, to place, seq uint64) {
	eachCell(term, from, to, func(y, col, width int) {
		if term.Row(y).Seq(col) > seq {
			term.Restamp(y, col, col+width, 0)
		}
	})
}

// eachCell calls do for the characters in [from, to).
func eachCell(term *vt.Terminal, from, to place, do func(y, col, width int)) {
	cols, _ := term.Size()
	for from.Line < to.Line || from.Line == to.Line && from.Col < to.Col {
		y, ok := from.row(term)
		if !ok || from.Col >= cols {
			return
		}
		row := term.Row(y)
		width := max(1, row.Width(from.Col))
		if len(row.AppendCell(nil, from.Col)) > 0 {
			do(y, from.Col, width)
		}
		if from.Col += width; from.Col >= cols && from.Line < to.Line {
			from.Line, from.Col = from.Line+1, 0
		}
	}
}

// findEcho searches the screen for a line's echo, written after the input: the
// first place where all of an entered line stands and nothing follows it in its
// row, or a part of the line that ends at the cursor.
func findEcho(term *vt.Terminal, l *echoLine) (place, bool) {
	cols, rows := term.Size()
	alt := term.Modes().AltScreen
	top := int64(0)
	if !alt {
		top = term.ScreenLine()
	}
	var room [16]byte
	for y := range rows {
		row := term.Row(y)
		if row.MaxSeq() <= l.Seq {
			continue
		}
		for col := range cols {
			cell := row.AppendCell(room[:0], col)
			if len(cell) == 0 || !startsWith(l.Text, cell) {
				continue
			}
			at := place{Line: top + int64(y), Col: col, Alt: alt}
			r := repeated(term, at, l.Text)
			whole := l.isWhole(r)
			found := whole && l.Entered && blankFrom(term, r.end) || (whole || r.n >= minEchoStart) && r.atCursor(term)
			if found && writtenAfter(term, at, r.end, l.Seq) {
				return at, true
			}
		}
	}
	return place{}, false
}

// writtenAfter reports whether a character in [from, to) was written after event
// seq. The others may be a part of the echo that was found before.
func writtenAfter(term *vt.Terminal, from, to place, seq uint64) bool {
	found := false
	eachCell(term, from, to, func(y, col, _ int) { found = found || term.Row(y).Seq(col) > seq })
	return found
}

func startsWith(text string, cell []byte) bool {
	return len(cell) <= len(text) && text[:len(cell)] == string(cell)
}

// blankFrom reports whether the row is blank from a place on.
func blankFrom(term *vt.Terminal, at place) bool {
	y, ok := at.row(term)
	if !ok || at.Col == 0 {
		return true // the text filled the row before
	}
	row := term.Row(y)
	for col := at.Col; col < row.Len(); col++ {
		if cell := string(row.AppendCell(nil, col)); cell != "" && cell != " " {
			return false
		}
	}
	return true
}
