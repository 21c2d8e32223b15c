package harness

import (
	"strings"

	"den/internal/screen/vt"
)

// columns is the width that the screen is written for.
const columns = 80

// wrap breaks a line at blanks so that its parts fit into width columns; those
// after the first are indented as the line is. A longer word is left to the
// terminal, which knows that its parts are one.
func wrap(line string, width int) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > width/2 {
		indent = ""
	}
	var parts []string
	start, column, blank := 0, 0, -1 // blank is the last one behind a word of the part that begins at start
	begin := ""
	inWords := false
	for i, r := range line {
		if r == ' ' || r == '\t' {
			if inWords {
				blank = i
			}
			column += widthOf(r)
			continue
		}
		inWords = true
		if column+widthOf(r) > width && blank >= 0 {
			parts = append(parts, begin+strings.TrimRight(line[start:blank], " \t"))
			start, begin, blank = blank+1, indent, -1
			column = len(indent) + vt.TextWidth(line[start:i], false)
		}
		column += widthOf(r)
	}
	return append(parts, begin+line[start:])
}

// widthOf is how many columns a character takes; a tab as many as it may.
func widthOf(r rune) int {
	if r == '\t' {
		return 8
	}
	return vt.TextWidth(string(r), false)
}
