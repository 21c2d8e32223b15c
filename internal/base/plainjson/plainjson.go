// Package plainjson writes JSON that a terminal shows as it is: encoding/json
// escapes controls below 32 only.
package plainjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Encode writes v as one JSON value and a newline, with each level indented by
// indent, or all on one line without. HTML is not escaped.
func Encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(Escape(b.Bytes()))
	return err
}

// Escape returns JSON in which every character that drives a terminal, or
// reorders what it shows, stands as \u and four digits: DEL, the controls from
// U+0080 on, and those of the direction of text. A reader of the JSON gets the
// same value.
func Escape(text []byte) []byte {
	var out []byte
	done := 0 // how much of text is in out
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if Misleads(r) {
			out = fmt.Appendf(append(out, text[done:at]...), `\u%04x`, r)
			done = at + size
		}
		at += size
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// Misleads reports whether a character that JSON may hold unescaped drives a
// terminal or changes the direction of the text around it.
func Misleads(r rune) bool {
	return r >= 0x7f && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

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
