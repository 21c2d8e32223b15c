package vt

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// state is the state of the parser between two bytes.
type state uint8

const (
	ground    state = iota
	escape          // after ESC
	escapeMid       // after ESC and an intermediate
	csi             // in the numbers of a control sequence
	csiMid          // after its intermediates
	csiIgnore       // in a malformed one
	dcs             // in the numbers of a device control string
	dcsMid          // after its intermediates
	osc             // in the text of an OSC
	dcsText         // in the text of a DCS that den reads
	sixel           // in the text of a DCS that is an image
	apc             // in the text of an APC that may be den's own
	oscIgnore       // in an OSC that den does not read
	strIgnore       // in any other string that den does not read
)

// maxString bounds the text of an OSC, DCS or APC, maxImageString that of an
// image. Longer ones are ignored.
const (
	maxString      = 1 << 20
	maxImageString = 8 << 20
)

// parser is the state machine's memory.
type parser struct {
	state  state
	prefix byte    // '<', '=', '>', '?' or 0
	mid    [2]byte // intermediates; 0 = none
	params params
	final  byte // of the DCS whose text is being read
	text   []byte

	partial  [3]byte // first bytes of a rune that the last write cut
	nPartial int
}

// Write feeds the terminal with output of the program. It never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	t.gen++
	if t.restore.matched >= 0 {
		t.restore.watch(p)
	}
	n := len(p)
	for len(p) > 0 {
		switch t.parser.state {
		case ground:
			p = t.writeGround(p)
		case osc, dcsText, sixel, apc, oscIgnore, strIgnore:
			p = t.writeString(p)
		default:
			t.step(p[0])
			p = p[1:]
		}
	}
	return n, nil
}

// writeGround handles text and whole sequences, and returns what is left when
// the parser enters another state.
func (t *Terminal) writeGround(p []byte) []byte {
	if t.parser.nPartial > 0 {
		if p = t.finishRune(p); len(p) == 0 {
			return p
		}
	}
	for i := 0; i < len(p); {
		n := 1
		switch b := p[i]; {
		case b == 0x1b:
			if n = t.shortCSI(p, i); n == 0 {
				n = t.wholeCSI(p[i:])
			}
			if n == 0 {
				t.parser.state = escape
				return p[i+1:]
			}
		case b < 0x20:
			t.control(b)
		case b < 0x7f:
			if n = t.typeASCII(p[i:]); n == 0 {
				n = asciiRun(p[i:])
				t.printASCII(p[i : i+n])
			}
		case b > 0x7f:
			if n = t.printUTF8(p[i:]); n == 0 {
				return nil // the rest is kept as a partial rune
			}
		}
		i += n
	}
	return nil
}

// wholeCSI executes a control sequence that p holds from ESC to final byte,
// and returns its length; 0 when it is cut or has an oddity, for step to see to.
func (t *Terminal) wholeCSI(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	ps := &t.parser
	ps.prefix, ps.mid = 0, [2]byte{}
	q := &ps.params
	q.reset()
	i := 2
	if b := p[2]; b >= '<' && b <= '?' {
		ps.prefix = b
		i = 3
	}
	for n := 0; ; {
		v, begin := int32(0), i
		for ; i < len(p); i++ {
			d := p[i] - '0'
			if d > 9 {
				break
			}
			v = min(v*10+int32(d), maxParam)
		}
		if i == len(p) {
			return 0
		}
		b := p[i]
		if b == ';' || b == ':' {
			if n == maxParams-1 {
				return 0
			}
			q.v[n] = v
			n++
			if b == ':' {
				q.colon |= 1 << n
			}
			i++
			continue
		}
		if b < 0x40 || b > 0x7e {
			return 0
		}
		if i > begin || n > 0 {
			q.v[n] = v
			n++
		}
		q.n = n
		if b == 'm' && ps.prefix == 0 {
			t.learnSGR(p[2:i])
		} else {
			t.dispatchCSI(b)
		}
		return i + 1
	}
}

// shortCSI is wholeCSI, from p[i] on, for the most frequent sequences: a final
// byte behind at most seven of numbers, or an SGR of at most eight that was seen
// before. It reads them from one word.
func (t *Terminal) shortCSI(p []byte, i int) int {
	if i > len(p)-11 || p[i+1] != '[' {
		return 0
	}
	w := binary.LittleEndian.Uint64(p[i+2 : i+10 : i+10])
	m := w & 0x4040404040404040 // in all final bytes, and in nothing before them
	if m == 0 {
		if p[i+10] == 'm' && t.knownSGR(w) {
			return 11
		}
		return 0
	}
	before := bits.TrailingZeros64(m) &^ 7 & 63 // bits
	length := before/8 + 3
	final := byte(w >> before)
	w &= 1<<before - 1
	if final == 'm' {
		if t.knownSGR(w) {
			return length
		}
		return 0
	}
	if final > 0x7e {
		return 0
	}
	ps := &t.parser
	q := &ps.params
	q.n, q.colon, q.extra = 0, 0, false
	ps.prefix, ps.mid = 0, [2]byte{}
	if byte(w) == '?' {
		ps.prefix = '?'
		w >>= 8
	}
	if w != 0 {
		v, k := int32(0), 0
		for ; w != 0; w >>= 8 {
			d := byte(w) - '0'
			if d <= 9 {
				v = v*10 + int32(d)
				continue
			}
			if d != ';'-'0' {
				return 0
			}
			q.v[k%maxParams] = min(v, maxParam)
			v = 0
			k++
		}
		q.v[k%maxParams] = min(v, maxParam)
		q.n = k + 1
	}
	if ps.prefix == 0 {
		t.plainCSI(final)
	} else {
		t.dispatchCSI(final)
	}
	return length
}

// step moves the parser by one byte inside an escape or control sequence.
func (t *Terminal) step(b byte) {
	ps := &t.parser
	switch {
	case b == 0x18 || b == 0x1a: // CAN, SUB
		ps.state = ground
		t.forgetLast()
		return
	case b == 0x1b:
		ps.state = escape
		return
	case b < 0x20:
		if ps.state != dcs && ps.state != dcsMid {
			t.control(b)
		}
		return
	case b == 0x7f:
		return
	case b >= 0x80:
		// No sequence contains it: the sequence is broken, the text is text.
		ps.state = ground
		t.forgetLast()
		if t.printUTF8([]byte{b}) == 0 {
			return
		}
		return
	}
	switch ps.state {
	case escape:
		t.stepEscape(b)
	case escapeMid:
		if b < 0x30 {
			ps.addMid(b)
		} else {
			ps.state = ground
			t.dispatchEscape(b)
		}
	case csi, csiMid:
		t.stepCSI(b)
	case csiIgnore:
		if b >= 0x40 {
			ps.state = ground
			t.forgetLast()
		}
	case dcs, dcsMid:
		t.stepDCS(b)
	}
}

func (ps *parser) begin(s state) {
	ps.state, ps.prefix, ps.mid = s, 0, [2]byte{}
	ps.params.reset()
	ps.text = ps.text[:0]
}

// addMid keeps an intermediate. A third one makes the sequence unknown.
func (ps *parser) addMid(b byte) {
	switch {
	case ps.mid[0] == 0:
		ps.mid[0] = b
	case ps.mid[1] == 0:
		ps.mid[1] = b
	default:
		ps.mid[1] = 0xff
	}
}

func (t *Terminal) stepEscape(b byte) {
	ps := &t.parser
	ps.begin(ground)
	switch b {
	case '[':
		ps.state = csi
	case ']':
		ps.state = osc
	case 'P':
		ps.state = dcs
	case '_':
		ps.state = apc
	case 'X', '^':
		ps.state = strIgnore
	case '\\':
		// The end of a string, which ended at its ESC.
	default:
		if b < 0x30 {
			ps.state = escapeMid
			ps.addMid(b)
		} else {
			t.dispatchEscape(b)
		}
	}
}

func (t *Terminal) stepCSI(b byte) {
	ps := &t.parser
	switch {
	case b >= 0x40:
		ps.state = ground
		t.dispatchCSI(b)
	case b < 0x30:
		ps.addMid(b)
		ps.state = csiMid
	case ps.state == csiMid:
		ps.state = csiIgnore
	case b <= '9':
		ps.params.digit(b)
	case b == ';' || b == ':':
		ps.params.separator(b)
	case ps.params.n > 0 || ps.prefix != 0:
		ps.state = csiIgnore
	default:
		ps.prefix = b
	}
}

func (t *Terminal) stepDCS(b byte) {
	ps := &t.parser
	switch {
	case b >= 0x40:
		ps.final = b
		ps.state = t.beginDCS(b)
	case b < 0x30:
		ps.addMid(b)
		ps.state = dcsMid
	case ps.state == dcsMid:
		ps.state = strIgnore
	case b <= '9':
		ps.params.digit(b)
	case b == ';' || b == ':':
		ps.params.separator(b)
	case ps.params.n > 0 || ps.prefix != 0:
		ps.state = strIgnore
	default:
		ps.prefix = b
	}
}

// writeString reads the text of a string up to its end, and returns the rest.
// Only ESC, BEL (in an OSC), CAN and SUB end it: 0x9c may be part of a rune.
func (t *Terminal) writeString(p []byte) []byte {
	ps := &t.parser
	i := 0
	for i < len(p) && p[i] >= 0x20 {
		i++
	}
	ps.keep(p[:i])
	if ps.state == osc && !oscReadable(ps.text) {
		ps.ignore(oscIgnore)
	}
	if ps.state == apc && !apcReadable(ps.text) {
		ps.ignore(strIgnore)
	}
	if i == len(p) {
		return nil
	}
	switch b := p[i]; {
	case b == 0x1b:
		t.endString(stringTerminator)
		ps.state = escape
	case b == 0x07 && (ps.state == osc || ps.state == oscIgnore):
		t.endString(bell)
		ps.state = ground
	case b == 0x18 || b == 0x1a:
		ps.ignore(ground)
	}
	return p[i+1:]
}

// keep adds to the text, and gives the string up when it grows too long.
func (ps *parser) keep(b []byte) {
	switch ps.state {
	case oscIgnore, strIgnore:
		return
	}
	limit := maxString
	if ps.state == sixel || ps.state == apc && (isGraphics(ps.text) || len(ps.text) == 0 && isGraphics(b)) {
		limit = maxImageString
	}
	if len(ps.text)+len(b) <= limit {
		ps.text = append(ps.text, b...)
	} else if ps.state == osc {
		ps.ignore(oscIgnore)
	} else {
		ps.ignore(strIgnore)
	}
}

// ignore drops the text read so far, and its memory where it is large.
func (ps *parser) ignore(s state) {
	ps.state = s
	ps.text = ps.text[:0]
	if cap(ps.text) > 4096 {
		ps.text = nil
	}
}

const (
	bell             = "\a"
	stringTerminator = "\x1b\\"
)

func (t *Terminal) endString(terminator string) {
	ps := &t.parser
	switch ps.state {
	case osc:
		t.dispatchOSC(ps.text, terminator)
	case dcsText:
		t.dispatchDCS(ps.text)
	case sixel:
		t.dispatchSixel(ps.text)
	case apc:
		t.dispatchAPC(ps.text)
	}
	ps.ignore(ground)
}

// oscReadable reports whether an OSC that begins like this can be one with a
// number; others are not kept.
func oscReadable(text []byte) bool {
	n := bytes.IndexByte(text, ';')
	if n < 0 {
		n = len(text)
	}
	if n > 5 {
		return false
	}
	for _, b := range text[:n] {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}
