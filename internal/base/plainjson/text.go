package plainjson

import (
	"fmt"
	"unicode/utf8"
)

// AppendText appends a character as a terminal shows it without acting on it:
// newlines, tabs and text as they are, other controls below 32 as ^X, and those
// above, with the characters that change the direction of text, as \u0085.
func AppendText(out []byte, r rune) []byte {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && !Misleads(r):
		return utf8.AppendRune(out, r)
	case r < ' ':
		return append(out, '^', byte(r)+'@')
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
