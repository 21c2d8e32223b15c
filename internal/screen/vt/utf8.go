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
		if m := unprintable(binary.LittleEndian.Uint64(p[i:])); m != 0 {
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

// unprintable has the top bit of the first byte of v that is < 0x20, 0x7f or >=
// 0x80. A borrow or carry can only spoil bytes after it.
func unprintable(v uint64) uint64 {
	return ((v - 0x2020202020202020) | v | (v + 0x0101010101010101)) & 0x8080808080808080
}

// printUTF8 prints the runes at the start of p, which begins with a byte >=
// 0x80, and returns how many bytes it used; 0 when p ends inside its first
// rune, which is then kept for the next write.
func (t *Terminal) printUTF8(p []byte) int {
	i := 0
	for {
		i += t.storeRunes(p[i:])
		if i == len(p) || p[i] < utf8.RuneSelf {
			return i
		}
		r, n := utf8.DecodeRune(p[i:])
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
}

// storeRunes prints the characters that p begins with up to the first that takes
// more than to store it in the cursor's row, and returns how many bytes that is.
// A space between two of them is one of them. There are no calls in the loop.
func (t *Terminal) storeRunes(p []byte) int {
	if !t.quick || t.cur.pending || len(p) < 4 {
		return 0
	}
	l := t.row(t.cur.y)
	cells, bits, clusters := l.edit(), t.penBits(), t.modes.has(modeClusters)
	x, end := t.cur.x, t.lineEndIn(l)
	var last cell
	i := 0
loop:
	for i+4 <= len(p) {
		v := binary.LittleEndian.Uint32(p[i:])
		var r uint32
		n := 0
		switch {
		case v&0xc0c0f0 == 0x8080e0:
			if r, n = v&0x0f<<12|v>>2&0xfc0|v>>16&0x3f, 3; r < 0x800 || r-0xd800 < 0x800 {
				break loop // not the shortest form, or a surrogate
			}
		case v&0xc0e0 == 0x80c0:
			if r, n = v&0x1f<<6|v>>8&0x3f, 2; r < 0xa0 {
				break loop // nor a control
			}
		case v&0xc0c0c0f8 == 0x808080f0:
			if r, n = v&0x07<<18|v<<4&0x3f000|v>>10&0xfc0|v>>24&0x3f, 4; r-0x10000 > 0xfffff {
				break loop
			}
		case v&0x80ff == 0x8020:
			r, n = ' ', 1
		default:
			break loop
		}
		props := propsIn(rune(r), clusters)
		if props-1 > 1 {
			break // it has no width, or may join another
		}
		w := int(props)
		if x+w >= end || (cells[x]|cells[x+w])&cellSpacer != 0 {
			break
		}
		last = cell(r)
		if w == 2 {
			last |= cellWide
			cells[x+1] = bits | cellSpacer
		}
		cells[x] = bits | last
		x += w
		i += n
	}
	if i > 0 {
		l.written(t.cur.x, x-t.cur.x, t.stamp)
		t.cur.x, t.last = x, lastChar{content: last, join: joinPlain}
	}
	return i
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
