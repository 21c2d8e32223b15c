package vt

import "strconv"

// appendPending appends the shortest bytes that bring a parser from the ground
// state to this one.
func (ps *parser) appendPending(dst []byte) []byte {
	switch ps.state {
	case ground:
		return append(dst, ps.partial[:ps.nPartial]...)
	case escape:
		return append(dst, 0x1b)
	case escapeMid:
		return ps.appendMid(append(dst, 0x1b))
	case csi:
		return ps.appendNumbers(append(dst, "\x1b["...))
	case csiMid:
		return ps.appendMid(ps.appendNumbers(append(dst, "\x1b["...)))
	case csiIgnore:
		return append(dst, "\x1b[0?"...)
	case dcs:
		return ps.appendNumbers(append(dst, "\x1bP"...))
	case dcsMid:
		return ps.appendMid(ps.appendNumbers(append(dst, "\x1bP"...)))
	case osc:
		return append(append(dst, "\x1b]"...), ps.text...)
	case dcsText:
		return append(append(append(dst, 0x1b, 'P', ps.mid[0]), ps.final), ps.text...)
	case sixel:
		return append(append(ps.appendNumbers(append(dst, "\x1bP"...)), 'q'), ps.text...)
	case apc:
		return append(append(dst, "\x1b_"...), ps.text...)
	case oscIgnore:
		return append(dst, "\x1b]!"...)
	}
	return append(dst, "\x1bX"...) // strIgnore
}

func (ps *parser) appendNumbers(dst []byte) []byte {
	if ps.prefix != 0 {
		dst = append(dst, ps.prefix)
	}
	p := &ps.params
	for i := range p.n {
		if i > 0 && p.joined(i) {
			dst = append(dst, ':')
		} else if i > 0 {
			dst = append(dst, ';')
		}
		dst = strconv.AppendInt(dst, int64(p.v[i]), 10)
	}
	if p.extra {
		dst = append(dst, ';')
	}
	return dst
}

func (ps *parser) appendMid(dst []byte) []byte {
	switch {
	case ps.mid[1] == 0xff:
		return append(dst, ps.mid[0], ' ', ' ')
	case ps.mid[1] != 0:
		return append(dst, ps.mid[:]...)
	}
	return append(dst, ps.mid[0])
}
