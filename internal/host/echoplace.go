package host

import (
	"strings"

	"den/internal/vt"
)

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

// repeated returns how many bytes of text stand on the screen from a place on,
// and where they end. Text may go on in the next row, wherever the row ends.
func repeated(term *vt.Terminal, at place, text string) (n int, end place) {
	cols, _ := term.Size()
	end = at
	for n < len(text) {
		y, ok := at.row(term)
		if !ok || at.Col >= cols {
			break
		}
		row := term.Row(y)
		cell := string(row.AppendCell(nil, at.Col))
		if cell == "" {
			cell = " "
		}
		if !strings.HasPrefix(text[n:], cell) {
			if cell != " " || at.Col != cols-1 {
				break
			}
			at = at.next(term, 1) // a wide character did not fit there
			continue
		}
		n += len(cell)
		at = at.next(term, row.Width(at.Col))
		end = at
	}
	return n, end
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

// findEcho searches the screen for a line's echo: the first place where all of
// it was written after the input and, if it was entered, nothing follows it in
// its row; or the part of it that ends at the cursor.
func findEcho(term *vt.Terminal, l *echoLine) (place, bool) {
	cols, rows := term.Size()
	alt := term.Modes().AltScreen
	top := int64(0)
	if !alt {
		top = term.ScreenLine()
	}
	cursor := cursorPlace(term)
	for y := range rows {
		row := term.Row(y)
		if row.MaxSeq() <= l.Seq {
			continue
		}
		for col := range cols {
			if !l.startsWith(row, col) {
				continue
			}
			at := place{Line: top + int64(y), Col: col, Alt: alt}
			n, end := repeated(term, at, l.Text)
			whole := n == len(l.Text) && (!l.Entered || blankFrom(term, end))
			if (whole || n >= minEchoStart && end == cursor) && writtenAfter(term, at, end, l.Seq) {
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

func (l *echoLine) startsWith(row vt.Row, col int) bool {
	cell := row.AppendCell(nil, col)
	return len(cell) > 0 && strings.HasPrefix(l.Text, string(cell))
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
