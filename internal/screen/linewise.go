package screen

import (
	"regexp/syntax"
	"strings"
)

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
