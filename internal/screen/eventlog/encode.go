package eventlog

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"

	"den/internal/base/lazy"
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

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit set in the lowest byte of x (and perhaps in higher
// ones, but never in a lower one) that JSON wants escaped: a control below
// 0x20, a quote or a backslash. Flipping the second bit moves the quote next to
// the controls and leaves those where they are.
func special(x uint64) uint64 {
	low := (x ^ ones*2) - ones*0x21
	slash := (x ^ ones*'\\') - ones
	return (low | slash) &^ x & highs
}

// plain returns how many bytes at the start of s need no escape.
func plain(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if m := special(binary.LittleEndian.Uint64(s[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// An escape is the representation of a byte in a JSON string, in the low bytes
// of a word, so that it is written with one store.
type escape struct {
	word uint64
	len  int
}

const hexDigits = "0123456789abcdef"

var escapes = lazy.Value[*[256]escape]{Make: func() *[256]escape {
	var t [256]escape
	set := func(c byte, s string) {
		var w [8]byte
		copy(w[:], s)
		t[c] = escape{binary.LittleEndian.Uint64(w[:]), len(s)}
	}
	for c := range byte(0x20) {
		set(c, string([]byte{'\\', 'u', '0', '0', '0' + c>>4, hexDigits[c&15]}))
	}
	set('\n', `\n`)
	set('\r', `\r`)
	set('\t', `\t`)
	set('"', `\"`)
	set('\\', `\\`)
	return &t
}}

// escapeBlock is how much is escaped between two checks of the buffer's
// capacity.
const escapeBlock = 1 << 10

// appendEscaped appends s, which must be valid UTF-8, as the content of a JSON
// string. Only what JSON requires is escaped.
func appendEscaped(b, s []byte) []byte {
	table := escapes.Get()
	for len(s) > 0 {
		block := s[:min(len(s), escapeBlock)]
		s = s[len(block):]
		// A byte becomes six at most, and a store may write seven too many.
		b = slices.Grow(b, 6*len(block)+8)
		b = b[:len(b)+escapeInto(b[len(b):cap(b)], block, table)]
	}
	return b
}

// escapeInto escapes s into dst, sixteen bytes at a time and without a call for
// the short runs that are typical of terminal output. It returns the number of
// bytes written.
func escapeInto(dst, s []byte, table *[256]escape) int {
	j := 0
	for {
		n, m := 0, uint64(0)
		for to := dst[j:]; n <= len(s)-16 && n <= len(to)-16; n += 16 {
			x, y := (*[16]byte)(s[n:n+16:n+16]), (*[16]byte)(to[n:n+16:n+16])
			v, w := binary.LittleEndian.Uint64(x[:8]), binary.LittleEndian.Uint64(x[8:])
			binary.LittleEndian.PutUint64(y[:8], v)
			binary.LittleEndian.PutUint64(y[8:], w)
			if m = special(v); m != 0 {
				break
			}
			if m = special(w); m != 0 {
				n += 8
				break
			}
		}
		if m == 0 {
			j += n
			s = s[n:]
			break
		}
		n += bits.TrailingZeros64(m) / 8
		j += n
		e := &table[s[n]]
		binary.LittleEndian.PutUint64(dst[j:j+8:j+8], e.word)
		j += e.len
		s = s[n+1:]
	}
	for _, c := range s {
		if e := &table[c]; e.len > 0 {
			binary.LittleEndian.PutUint64(dst[j:j+8:j+8], e.word)
			j += e.len
		} else {
			dst[j] = c
			j++
		}
	}
	return j
}

// appendSeconds appends us microseconds as seconds, without trailing zeros.
func appendSeconds(b []byte, us int64) []byte {
	b = appendInt(b, us/1e6)
	frac := us % 1e6
	if frac == 0 {
		return append(b, ".0"...)
	}
	var d [7]byte
	d[0] = '.'
	n := 1
	for div := int64(1e5); frac > 0; div /= 10 {
		d[n] = byte('0' + frac/div)
		frac %= div
		n++
	}
	return append(b, d[:n]...)
}

func appendInt(b []byte, n int64) []byte {
	if n < 10 {
		return append(b, byte('0'+n))
	}
	var d [20]byte
	i := len(d)
	for ; n > 0; n /= 10 {
		i--
		d[i] = byte('0' + n%10)
	}
	return append(b, d[i:]...)
}
