package eventlog

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// appendText appends a line whose data is s, which must be valid UTF-8.
func appendText(b []byte, us int64, code string, s []byte) []byte {
	b = appendHead(b, us, code)
	b = appendEscaped(b, s)
	return append(b, "\"]\n"...)
}

// appendBinary appends a line whose data is s in base64.
func appendBinary(b []byte, us int64, code string, s []byte) []byte {
	b = appendHead(b, us, code)
	b = base64.StdEncoding.AppendEncode(b, s)
	return append(b, "\"]\n"...)
}

func appendHead(b []byte, us int64, code string) []byte {
	b = append(b, '[')
	b = appendSeconds(b, us)
	b = append(b, `, "`...)
	if len(code) == 1 && code[0] > ' ' && code[0] != '"' && code[0] != '\\' && code[0] < utf8.RuneSelf {
		b = append(b, code[0])
	} else {
		b = appendEscaped(b, bytes.ToValidUTF8([]byte(code), []byte("?")))
	}
	return append(b, `", "`...)
}

// UTF8Prefix returns the number of bytes of p before an incomplete character
// at its end, or len(p). A host that keeps the rest for its next read gives
// players whole characters.
func UTF8Prefix(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		c := p[len(p)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// splitUTF8 returns how many bytes at the start of p are valid UTF-8, and how
// many after those are not.
func splitUTF8(p []byte) (good, bad int) {
	// The usual case is a character cut at the end.
	if n := UTF8Prefix(p); utf8.Valid(p[:n]) {
		return n, len(p) - n
	}
	for good < len(p) {
		r, size := utf8.DecodeRune(p[good:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		good += size
	}
	for good+bad < len(p) {
		if r, size := utf8.DecodeRune(p[good+bad:]); r != utf8.RuneError || size != 1 {
			break
		}
		bad++
	}
	return good, bad
}
