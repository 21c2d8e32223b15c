package vt

// typed is what stands in a row, in the form in which rows are packed, while it
// was written from left to right in ASCII: as nearly all rows are that scroll
// away. Whatever else changes a cell of the row calls untype.
type typed struct {
	on   bool
	text []byte // of the cells up to the last one written
	runs []run
}

// run is neighbouring cells of one style. It begins where the one before it ends.
type run struct {
	end   int
	style uint32
}

// retype starts anew in an empty row.
func (l *line) retype() {
	l.typed.on, l.typed.text, l.typed.runs = true, l.typed.text[:0], l.typed.runs[:0]
}

// untype notes that cells changed in another way than by text behind their end.
func (l *line) untype() { l.typed.on = false }

// erase blanks columns [from, to).
func (l *line) erase(from, to int, blank cell) {
	if l.typed.on && blank == 0 && from >= len(l.typed.text) {
		return // nothing was written there
	}
	l.untype()
	fill(l.cells[from:to], blank)
}

// typeASCII notes that text was written from column x on.
func (l *line) typeASCII(x int, text []byte, bits cell) {
	t := &l.typed
	if len(t.text) != x && !t.pad(x) || bits&cellProtected != 0 {
		t.on = false
		return
	}
	if t.text == nil {
		t.text = make([]byte, 0, len(l.cells))
	}
	t.text = append(t.text, text...)
	if n := len(t.runs); n > 0 && t.runs[n-1].style == bits.style() {
		t.runs[n-1].end = len(t.text)
	} else {
		t.runs = append(t.runs, run{len(t.text), bits.style()})
	}
}

// pad adds blanks up to column x, to where the cursor was moved. It reports
// false where text ends behind x.
func (t *typed) pad(x int) bool {
	n := len(t.text)
	if n > x {
		return false
	}
	t.text = append(t.text, make([]byte, x-n)...)
	if n := len(t.runs); n > 0 && t.runs[n-1].style == 0 {
		t.runs[n-1].end = x
	} else {
		t.runs = append(t.runs, run{x, 0})
	}
	return true
}

// isStyled reports whether any cell has a style.
func (t *typed) isStyled() bool { return len(t.runs) > 1 || len(t.runs) == 1 && t.runs[0].style != 0 }
