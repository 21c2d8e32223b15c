package screen

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp/syntax"
	"strings"

	"den/internal/screen/vt"
)

// Text returns the canonical text of the visible screen: rows without their
// trailing blanks, joined by newlines, without trailing empty rows. Waits,
// stability and the hash all use it, so they never disagree.
func Text(t *vt.Terminal) string {
	return string(t.AppendText(nil))
}

// Hash is the digest of a canonical text, its SHA-256. It changes exactly when the text
// does; cursor, style and scrollback have no part in it.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TextToCursor returns the canonical text with the blanks before the cursor in
// the cursor's row.
func TextToCursor(t *vt.Terminal) string {
	cursor := t.Cursor()
	row := t.Row(cursor.Row)
	used := 0 // columns up to the last that is not blank
	for col := range min(cursor.Col, row.Len()) {
		if cell := string(row.AppendCell(nil, col)); cell != "" && cell != " " {
			used = col + max(row.Width(col), 1)
		}
	}
	for col := cursor.Col; col < row.Len(); col++ {
		if cell := string(row.AppendCell(nil, col)); cell != "" && cell != " " {
			return Text(t) // text behind the cursor keeps its blanks anyway
		}
	}
	blanks := strings.Repeat(" ", max(0, cursor.Col-used))
	lines := strings.Split(Text(t), "\n")
	for len(lines) <= cursor.Row {
		lines = append(lines, "")
	}
	lines[cursor.Row] += blanks
	return strings.Join(lines, "\n")
}

// Unwrapped returns the visible text with rows that the terminal wrapped
// joined again, so that a search finds what a program printed as one line.
func Unwrapped(t *vt.Terminal) string {
	_, rows := t.Size()
	var b []byte
	for i := range rows {
		row := t.Row(i)
		b = row.AppendText(b)
		if !row.Wrapped() {
			b = append(b, '\n')
		}
	}
	return strings.TrimRight(string(b), "\n")
}

// LastLines returns up to n of the last lines of a canonical text.
func LastLines(text string, n int) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}

// isLinewise reports whether every match of a regular expression is within one
// line, and would be found in that line alone: it matches no newline, and asks
// for neither the beginning nor the end of the text. It may say no where yes is
// right.
func isLinewise(expr string) bool {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	return err == nil && staysInLine(parsed)
}

func staysInLine(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpAnyChar:
		return false
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return false
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 { // pairs of a first and a last
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return false
			}
		}
	}
	for _, sub := range re.Sub {
		if !staysInLine(sub) {
			return false
		}
	}
	return true
}

// findLinewise is find for an expression that is linewise: only rows that were
// written after the baseline are searched, however often the text stands in
// others.
func (m *Matcher) findLinewise(v *View, text string) (string, bool) {
	_, rows := v.Terminal.Size()
	y := 0
	for line := range strings.Lines(text) {
		row := y
		if y++; row >= rows || v.Terminal.Row(row).MaxSeq() <= m.After {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		fresh := freshBytes(v.Terminal.Row(row), m.After)
		for _, at := range m.regex.FindAllStringIndex(line, -1) {
			if anyTrue(fresh, at[0], at[1]) {
				return line[at[0]:at[1]], true
			}
		}
	}
	return "", false
}
