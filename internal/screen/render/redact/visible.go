package redact

import (
	"unicode"
	"unicode/utf8"
)

// visible returns a text without the characters that nobody sees, which may
// stand between those of a secret: zero-width, soft hyphens, marks that combine,
// changes of direction, controls. at has the place of each of its bytes in the
// text, and is nil where the text has no such character.
func visible(text []byte) (clean []byte, at []int32) {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		switch hidden := invisible(r); {
		case hidden && at == nil:
			clean = append(make([]byte, 0, len(text)), text[:i]...)
			at = make([]int32, i, len(text))
			for j := range at {
				at[j] = int32(j)
			}
		case !hidden && at != nil:
			for j := range n {
				clean, at = append(clean, text[i+j]), append(at, int32(i+j))
			}
		}
		i += n
	}
	if at == nil {
		return text, nil
	}
	return clean, at
}

func invisible(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\r' && r != '\t'
	case r < 0x7f, r >= 0x2190 && r < 0x2c00, r >= 0x3400 && r < 0xa000, r >= 0xac00 && r < 0xd7a4: // all that most screens have
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// asWritten turns spans of a visible text into those of the text that it was
// made of.
func asWritten(spans []Span, at []int32) []Span {
	if at != nil {
		for i, sp := range spans {
			spans[i] = Span{int(at[sp.From]), int(at[sp.To-1]) + 1}
		}
	}
	return spans
}
