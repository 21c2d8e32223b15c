package vt

import "strconv"

// Dump returns bytes that give a fresh terminal of the same size and Config
// this terminal's state.
func (t *Terminal) Dump() []byte {
	return t.AppendText([]byte("\x1bc"))
}

// appendSGR appends the parameters, and the final byte, that give a plain pen
// the style s.
func appendSGR(dst []byte, s style) []byte {
	dst = append(dst, '0')
	add := func(n string) { dst = append(append(dst, ';'), n...) }
	for i, code := range [...]string{"1", "2", "3", "5", "7", "8", "9", "53"} {
		if s.attrs>>i&1 != 0 {
			add(code)
		}
	}
	switch s.underline {
	case UnderlineNone:
	case UnderlineSingle:
		add("4")
	default:
		add("4:" + strconv.Itoa(int(s.underline)))
	}
	dst = appendColor(dst, s.fg, 30)
	dst = appendColor(dst, s.bg, 40)
	dst = appendColor(dst, s.ul, 50)
	return append(dst, 'm')
}

// appendColor appends a colour as SGR numbers around base: 30 for the
// foreground, 40 for the background, 50 for the underline.
func appendColor(dst []byte, c Color, base int64) []byte {
	num := func(n int64, sep byte) { dst = strconv.AppendInt(append(dst, sep), n, 10) }
	i := int64(c.Index())
	switch {
	case c == 0:
	case c.Kind() == ColorIndexed && i < 8 && base < 50:
		num(base+i, ';')
	case c.Kind() == ColorIndexed && i < 16 && base < 50:
		num(base+60+i-8, ';')
	default:
		// Old terminals read the underline's colour only with colons.
		sep := byte(';')
		if base == 50 {
			sep = ':'
		}
		num(base+8, ';')
		if c.Kind() == ColorIndexed {
			num(5, sep)
			num(i, sep)
			break
		}
		num(2, sep)
		if sep == ':' {
			dst = append(dst, sep) // the colour space, left out
		}
		v := c.RGB()
		num(int64(v.R), sep)
		num(int64(v.G), sep)
		num(int64(v.B), sep)
	}
	return dst
}
