package eventlog

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit set in the lowest byte of x (and perhaps in higher
// ones, but never in a lower one) that JSON wants escaped: a control below
// 0x20, a quote or a backslash.
func special(x uint64) uint64 {
	quote := x ^ (ones * '"')
	slash := x ^ (ones * '\\')
	return ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
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

const hex = "0123456789abcdef"

// appendEscaped appends s, which must be valid UTF-8, as the inside of a JSON
// string. Only what JSON demands is escaped.
func appendEscaped(b, s []byte) []byte {
	for {
		n := plain(s)
		b = append(b, s[:n]...)
		if n == len(s) {
			return b
		}
		switch c := s[n]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		s = s[n+1:]
	}
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
