package vt

import "strconv"

// maxSGRStack bounds the stack of XTPUSHSGR, as in xterm. A push beyond it is lost.
const maxSGRStack = 10

// savedSGR is what XTPUSHSGR keeps: a style, and which parts of it are restored.
type savedSGR struct {
	style style
	parts sgrParts
}

// sgrParts is a set of the parts of a style that XTPUSHSGR can name.
type sgrParts struct {
	attrs                 Attr
	underline, fg, bg, ul bool
}

// allParts is what XTPUSHSGR without numbers keeps.
var allParts = sgrParts{attrs: Overline<<1 - 1, underline: true, fg: true, bg: true, ul: true}

// sgrPartNumbers are the numbers that name attributes in XTPUSHSGR.
var sgrPartNumbers = [...]struct {
	number int
	attr   Attr
}{{1, Bold}, {2, Dim}, {3, Italic}, {5, Blink}, {7, Inverse}, {8, Hidden}, {9, Strike}}

// Other numbers of XTPUSHSGR. 21, the double underline, is a form of 4 here.
const (
	sgrPartUnderline       = 4
	sgrPartDoubleUnderline = 21
	sgrPartForeground      = 30
	sgrPartBackground      = 31
)

func (s *sgrParts) add(number int) {
	switch number {
	case sgrPartUnderline, sgrPartDoubleUnderline:
		s.underline = true
	case sgrPartForeground:
		s.fg = true
	case sgrPartBackground:
		s.bg = true
	}
	for _, p := range sgrPartNumbers {
		if p.number == number {
			s.attrs |= p.attr
		}
	}
}

// copyTo copies the parts of one style to another.
func (s sgrParts) copyTo(to *style, from style) {
	to.attrs = to.attrs&^s.attrs | from.attrs&s.attrs
	if s.underline {
		to.underline = from.underline
	}
	if s.fg {
		to.fg = from.fg
	}
	if s.bg {
		to.bg = from.bg
	}
	if s.ul {
		to.ul = from.ul
	}
}

// pushSGR is XTPUSHSGR.
func (t *Terminal) pushSGR() {
	if len(t.sgrStack) >= maxSGRStack {
		return
	}
	p := &t.parser.params
	saved := savedSGR{parts: allParts}
	if p.n > 0 {
		saved.parts = sgrParts{}
		for _, n := range p.v[:p.n] {
			saved.parts.add(int(n))
		}
	}
	saved.parts.copyTo(&saved.style, t.cur.pen.style)
	t.sgrStack = append(t.sgrStack, saved)
}

// popSGR is XTPOPSGR.
func (t *Terminal) popSGR() {
	n := len(t.sgrStack)
	if n == 0 {
		return
	}
	saved := t.sgrStack[n-1]
	t.sgrStack = t.sgrStack[:n-1]
	saved.parts.copyTo(&t.cur.pen.style, saved.style)
	t.cur.pen.match = penStale
}

// sgrStack makes the reader push what is on the stack.
func (d *dumper) sgrStack() {
	for _, saved := range d.t.sgrStack {
		d.setPen(pen{style: saved.style})
		d.add("\x1b[")
		d.b = saved.parts.appendNumbers(d.b)
		d.add("#{")
	}
}

// appendNumbers appends the numbers that name the parts; for all parts none.
func (s sgrParts) appendNumbers(dst []byte) []byte {
	if s == allParts {
		return dst
	}
	dst = append(dst, '0') // names nothing, but a list without numbers means all
	number := func(n int, on bool) {
		if on {
			dst = strconv.AppendInt(append(dst, ';'), int64(n), 10)
		}
	}
	for _, p := range sgrPartNumbers {
		number(p.number, s.attrs&p.attr != 0)
	}
	number(sgrPartUnderline, s.underline)
	number(sgrPartForeground, s.fg)
	number(sgrPartBackground, s.bg)
	return dst
}
