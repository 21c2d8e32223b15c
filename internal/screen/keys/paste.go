package keys

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"den/internal/screen/vt"
)

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Text is literal text as the keyboard would send it: a line end becomes the
// Enter key's carriage return. Everything else passes as it is.
func Text(s string) []byte {
	s = strings.ReplaceAll(s, "\r\n", "\r")
	return []byte(strings.ReplaceAll(s, "\n", "\r"))
}

// clean is a paste's content as a careful terminal sends it. Line ends become
// carriage returns. Of the control characters only the tab stays: an escape
// could end the paste early and type commands of its own, and so could its
// eight-bit form; Ctrl-C and Ctrl-D act even where pastes are not marked.
func clean(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(pasteBegin)+len(pasteEnd))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case ' ' <= r && r < 0x7f: // most of it, in one piece
			for size < len(text) && ' ' <= text[size] && text[size] < 0x7f {
				size++
			}
			out = append(out, text[:size]...)
		case r == '\r' && bytes.HasPrefix(text, []byte("\r\n")):
			size = 2
			out = append(out, '\r')
		case r == '\n', r == '\r':
			out = append(out, '\r')
		case r == '\t':
			out = append(out, '\t')
		case r < 0x20, r >= 0x7f && r <= 0x9f:
		case r == utf8.RuneError && size == 1 && text[0] <= 0x9f: // A bare C1 byte.
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// Paste is text as a terminal in modes m pastes it: between marks where the
// program asked for them, and with nothing in it that could end the paste.
func Paste(text []byte, m vt.Modes) []byte {
	out := clean(text)
	if !m.BracketedPaste {
		return out
	}
	return append(append([]byte(pasteBegin), out...), pasteEnd...)
}
