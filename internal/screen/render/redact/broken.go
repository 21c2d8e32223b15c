package redact

import (
	"regexp"
	"sync"
)

// A program may break a token into lines, at the width of a window or of a box
// that it draws. The first part is known by its form. What follows is taken for
// the rest if it is the first word of the next line, long or of letters and
// digits, and the token is not complete.
var nextLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t|\\\x{2500}-\x{257f}]*\r?\n[ \t|>\x{2500}-\x{257f}]*([A-Za-z0-9_+.~-][A-Za-z0-9_+/.~-]*={0,2})(?:["'` + "`" + `,;)\]}\s|\\\x{2500}-\x{257f}]|$)`)
})

// Bounds of a rest.
const (
	minRest  = 4 // of letters and digits
	longRest = 8
	maxLines = 64
)

// rest returns the parts of a secret in the lines below its first part, which
// has had n bytes and ends at end. A secret of a known length is full bytes
// long; 0 means that it may have any length.
func rest(text []byte, end, n, full int) []Span {
	var parts []Span
	for range maxLines {
		if full > 0 && n >= full {
			break
		}
		m := nextLine().FindSubmatchIndex(text[end:])
		if m == nil {
			break
		}
		part := Span{end + m[2], end + m[3]}
		word := text[part.From:part.To]
		completes := full > 0 && n+len(word) == full
		if full > 0 && n+len(word) > full || !completes && len(word) < longRest && !(len(word) >= minRest && mixed(word)) {
			break
		}
		parts = append(parts, part)
		n, end = n+len(word), part.To
	}
	return parts
}
