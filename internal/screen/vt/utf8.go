package vt

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// asciiRun returns how many leading bytes of p are 0x20 to 0x7e.
func asciiRun(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		v := binary.LittleEndian.Uint64(p[i:])
		// The top bit of each byte that is < 0x20, 0x7f or >= 0x80. A borrow or
		// carry can only spoil bytes after the first that stops the run.
		m := ((v - 0x2020202020202020) | v | (v + 0x0101010101010101)) & 0x8080808080808080
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(p); i++ {
		if b := p[i]; b < 0x20 || b >= 0x7f {
			break
		}
	}
	return i
}

// printUTF8 prints the runes at the start of p, which begins with a byte >=
// 0x80, and returns how many bytes it used; 0 when p ends inside its first
// rune, which is then kept for the next write.
func (t *Terminal) printUTF8(p []byte) int {
	i := 0
	for i < len(p) && p[i] >= utf8.RuneSelf {
		r, n := decodeRune(p[i:])
		if r == utf8.RuneError && n <= 1 {
			if n = subpart(p[i:]); i+n == len(p) && !utf8.FullRune(p[i:]) {
				if i > 0 {
					return i
				}
				t.parser.nPartial = copy(t.parser.partial[:], p)
				return 0
			}
		}
		if r >= 0xa0 { // C1 controls come only as ESC sequences
			t.printRune(r)
		}
		i += n
	}
	return i
}

// decodeRune is utf8.DecodeRune, with a short way for most runes. The first byte is >= 0x80.
func decodeRune(p []byte) (rune, int) {
	b := p[0]
	if b >= 0xe1 && b <= 0xef && b != 0xed && len(p) >= 3 && p[1]&0xc0 == 0x80 && p[2]&0xc0 == 0x80 {
		return rune(b&0x0f)<<12 | rune(p[1]&0x3f)<<6 | rune(p[2]&0x3f), 3
	}
	if b >= 0xc2 && b <= 0xdf && len(p) >= 2 && p[1]&0xc0 == 0x80 {
		return rune(b&0x1f)<<6 | rune(p[1]&0x3f), 2
	}
	if b >= 0xf0 && len(p) >= 4 && p[1]&0xc0 == 0x80 && p[2]&0xc0 == 0x80 && p[3]&0xc0 == 0x80 {
		r := rune(b&0x0f)<<18 | rune(p[1]&0x3f)<<12 | rune(p[2]&0x3f)<<6 | rune(p[3]&0x3f)
		if b <= 0xf4 && r > 0xffff && r <= utf8.MaxRune {
			return r, 4
		}
	}
	return utf8.DecodeRune(p)
}

// finishRune completes the rune that an earlier write cut, and returns the
// bytes after it.
func (t *Terminal) finishRune(p []byte) []byte {
	ps := &t.parser
	var buf [4]byte
	n := copy(buf[:], ps.partial[:ps.nPartial])
	used := 0
	for used < len(p) {
		buf[n] = p[used]
		if subpart(buf[:n+1]) <= n {
			break // the byte does not belong to the rune
		}
		n, used = n+1, used+1
		if r, size := utf8.DecodeRune(buf[:n]); size == n {
			ps.nPartial = 0
			if r >= 0xa0 {
				t.printRune(r)
			}
			return p[used:]
		}
	}
	if used == len(p) {
		ps.nPartial = copy(ps.partial[:], buf[:n])
		return nil
	}
	ps.nPartial = 0
	t.printRune(utf8.RuneError)
	return p[used:]
}

// subpart returns the length of the maximal subpart at the start of p: the
// bytes that one U+FFFD replaces when no whole rune is there. It is at least 1.
func subpart(p []byte) int {
	lo, hi, need := byte(0x80), byte(0xbf), 0
	switch b := p[0]; {
	case b >= 0xc2 && b <= 0xdf:
		need = 1
	case b >= 0xe0 && b <= 0xef:
		need = 2
		if b == 0xe0 {
			lo = 0xa0
		} else if b == 0xed {
			hi = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		need = 3
		if b == 0xf0 {
			lo = 0x90
		} else if b == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for ; n <= need && n < len(p) && p[n] >= lo && p[n] <= hi; n++ {
		lo, hi = 0x80, 0xbf
	}
	return n
}
