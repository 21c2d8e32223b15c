package vt

import "strconv"

// attrCodes are the SGR numbers of the attributes, in the order of their bits.
var attrCodes = [...]string{"1", "2", "3", "5", "7", "8", "9", "53"}

// appendSGR appends the SGR that gives any pen the style s: CSI, numbers and
// final byte. The link is not SGR's business.
func appendSGR(dst []byte, s style) []byte {
	dst = append(dst, "\x1b[0"...)
	return append(appendStyle(dst, style{}, s), 'm')
}

// appendSGRSetting appends the numbers that DECRQSS reports for s, as xterm
// does: palette and true colours with colons.
func appendSGRSetting(dst []byte, s style) []byte {
	dst = appendAttrs(append(dst, '0'), style{}, s)
	dst = appendColor(dst, s.fg, 30, ':')
	dst = appendColor(dst, s.bg, 40, ':')
	return appendColor(dst, s.ul, 50, ':')
}

// appendSGRChange appends the shortest SGR that leads from one style to another.
func appendSGRChange(dst []byte, from, to style) []byte {
	to.link = from.link
	if to == (style{link: to.link}) {
		return append(dst, "\x1b[m"...)
	}
	removes := from.attrs&^to.attrs != 0 ||
		from.underline != 0 && to.underline == 0 ||
		from.fg != 0 && to.fg == 0 || from.bg != 0 && to.bg == 0 || from.ul != 0 && to.ul == 0
	if removes {
		return appendSGR(dst, to)
	}
	at := len(dst) + len("\x1b[")
	dst = appendStyle(append(dst, "\x1b["...), from, to)
	dst = append(dst[:at], dst[at+1:]...) // the first semicolon
	return append(dst, 'm')
}

// appendStyle appends the numbers of what to adds to from, each after a semicolon.
func appendStyle(dst []byte, from, to style) []byte {
	dst = appendAttrs(dst, from, to)
	if to.fg != from.fg {
		dst = appendColor(dst, to.fg, 30, ';')
	}
	if to.bg != from.bg {
		dst = appendColor(dst, to.bg, 40, ';')
	}
	if to.ul != from.ul {
		// The underline's colour is widely read with colons only.
		dst = appendColor(dst, to.ul, 50, ':')
	}
	return dst
}

func appendAttrs(dst []byte, from, to style) []byte {
	for i, code := range attrCodes {
		if (to.attrs&^from.attrs)>>i&1 != 0 {
			dst = append(append(dst, ';'), code...)
		}
	}
	if to.underline != from.underline {
		dst = append(dst, ";4"...)
		if to.underline != UnderlineSingle {
			dst = strconv.AppendInt(append(dst, ':'), int64(to.underline), 10)
		}
	}
	return dst
}

// appendColor appends a colour's numbers around base: 30 for the foreground,
// 40 for the background, 50 for the underline. The separator inside a colour is
// a semicolon, which every terminal reads, or a colon.
func appendColor(dst []byte, c Color, base int64, sep byte) []byte {
	num := func(n int64, sep byte) { dst = strconv.AppendInt(append(dst, sep), n, 10) }
	i := int64(c.Index())
	switch {
	case c == 0:
		return dst
	case c.Kind() == ColorIndexed && i < 8 && base < 50:
		num(base+i, ';')
		return dst
	case c.Kind() == ColorIndexed && i < 16 && base < 50:
		num(base+60+i-8, ';')
		return dst
	}
	num(base+8, ';')
	if c.Kind() == ColorIndexed {
		num(5, sep)
		num(i, sep)
		return dst
	}
	num(2, sep)
	if sep == ':' {
		dst = append(dst, sep) // the colour space, left out
	}
	v := c.RGB()
	num(int64(v.R), sep)
	num(int64(v.G), sep)
	num(int64(v.B), sep)
	return dst
}
