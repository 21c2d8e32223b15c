package screen

import (
	"slices"
	"strings"

	"den/internal/screen/vt"
)

// A match counts after a baseline if at least one character of it was written
// later. Programs that update a screen write only what changed: of "5 passed"
// perhaps only the digit.

// freshText tells which bytes of a text of the screen belong to characters that
// were written after the baseline. Blanks never do. Only rows that are asked for
// are looked at.
type freshText struct {
	terminal *vt.Terminal
	seq      uint64
	text     string
	rows     []rowStart
	fresh    map[int][]bool // by row, for each byte of its text
}

// rowStart is where a row begins in the text.
type rowStart struct{ at, row int }

// any reports whether a byte in [from, to) is fresh.
func (f *freshText) any(from, to int) bool {
	i, _ := slices.BinarySearchFunc(f.rows, from+1, func(r rowStart, at int) int { return r.at - at })
	for i = max(0, i-1); i < len(f.rows) && f.rows[i].at < to; i++ {
		r := f.rows[i]
		row := f.terminal.Row(r.row)
		if row.MaxSeq() <= f.seq {
			continue
		}
		fresh, ok := f.fresh[r.row]
		if !ok {
			fresh = freshBytes(row, f.seq)
			f.fresh[r.row] = fresh
		}
		if anyTrue(fresh, from-r.at, to-r.at) {
			return true
		}
	}
	return false
}

// anyTrue reports whether a value in [from, to) is true, as far as there are
// any.
func anyTrue(values []bool, from, to int) bool {
	begin, end := min(max(from, 0), len(values)), min(max(to, 0), len(values))
	return slices.Contains(values[begin:end], true)
}

// find reports whether s occurs in the text with a fresh character in it. It
// searches only around rows that have some, however often s stands elsewhere.
func (f *freshText) find(s string) bool {
	for i, r := range f.rows {
		if f.terminal.Row(r.row).MaxSeq() <= f.seq {
			continue
		}
		end := len(f.text)
		if i+1 < len(f.rows) {
			end = min(end, f.rows[i+1].at+len(s))
		}
		if f.findIn(s, min(max(0, r.at-len(s)), end), end) {
			return true
		}
	}
	return false
}

// findIn is find in a part of the text.
func (f *freshText) findIn(s string, from, to int) bool {
	for at := from; at <= to; at++ {
		i := strings.Index(f.text[at:to], s)
		if i < 0 {
			return false
		}
		at += i
		if f.any(at, at+len(s)) {
			return true
		}
	}
	return false
}

// ContainsAfter is Contains for what was written after event seq.
func (v *View) ContainsAfter(s string, seq uint64) bool {
	switch {
	case !v.Contains(s):
		return false
	case seq == 0:
		return true
	case !writtenAfter(v.Terminal, seq):
		return false
	}
	return freshLines(v.Terminal, v.Text(), seq).find(s) ||
		strings.HasSuffix(s, " ") && freshLines(v.Terminal, v.TextToCursor(), seq).find(s) ||
		freshUnwrapped(v.Terminal, v.Unwrapped(), seq).find(s)
}

// find returns the first match of the regular expression in text, which is
// Text or TextToCursor, after the baseline.
func (m *Matcher) find(v *View, text string) (string, bool) {
	if m.After == 0 {
		at := m.regex.FindStringIndex(text)
		if at == nil {
			return "", false
		}
		return text[at[0]:at[1]], true
	}
	if m.linewise {
		return m.findLinewise(v, text)
	}
	if !writtenAfter(v.Terminal, m.After) {
		return "", false
	}
	all := m.regex.FindAllStringIndex(text, -1)
	f := freshLines(v.Terminal, text, m.After)
	for _, at := range all {
		if f.any(at[0], at[1]) {
			return text[at[0]:at[1]], true
		}
	}
	return "", false
}

// writtenAfter reports whether anything on the screen may have been written
// after event seq.
func writtenAfter(t *vt.Terminal, seq uint64) bool {
	_, rows := t.Size()
	for y := range rows {
		if t.Row(y).MaxSeq() > seq {
			return true
		}
	}
	return false
}

// freshLines is for a text with one line for each row.
func freshLines(t *vt.Terminal, text string, seq uint64) *freshText {
	f := &freshText{terminal: t, seq: seq, text: text, fresh: map[int][]bool{}}
	at := 0
	for line := range strings.Lines(text) {
		f.rows = append(f.rows, rowStart{at, len(f.rows)})
		at += len(line)
	}
	return f
}

// freshUnwrapped is for Unwrapped.
func freshUnwrapped(t *vt.Terminal, text string, seq uint64) *freshText {
	f := &freshText{terminal: t, seq: seq, text: text, fresh: map[int][]bool{}}
	_, rows := t.Size()
	var line []byte
	for y, at := 0, 0; y < rows; y++ {
		f.rows = append(f.rows, rowStart{at, y})
		row := t.Row(y)
		line = row.AppendText(line[:0])
		if at += len(line); !row.Wrapped() {
			at++
		}
	}
	return f
}

// freshBytes returns one value for each byte of the row's text, and of the
// blanks behind it.
func freshBytes(row vt.Row, seq uint64) []bool {
	fresh := make([]bool, 0, row.Len())
	var text []byte
	for col := range row.Len() {
		if row.Width(col) == 0 {
			continue
		}
		text = row.AppendCell(text[:0], col)
		blank := len(text) == 0 || string(text) == " "
		for range max(1, len(text)) {
			fresh = append(fresh, !blank && row.Seq(col) > seq)
		}
	}
	return fresh
}
