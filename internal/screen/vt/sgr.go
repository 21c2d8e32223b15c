package vt

import "encoding/binary"

// sgrStep is what a short SGR made of a style. Programs send the same few all
// the time, so they are not read anew: see knownSGR.
type sgrStep struct {
	params   uint64 // the bytes between CSI and m, the first lowest
	from, to uint32 // styles
}

// sgrSteps is the steps that are remembered, two of each hash: the newer one
// first.
type sgrSteps [64][2]sgrStep

func (s *sgrSteps) of(params uint64, from uint32) *[2]sgrStep {
	return &s[(params^uint64(from)*0xC2B2AE3D27D4EB4F)*0x9E3779B97F4A7C15>>58]
}

// knownSGR executes an SGR if it was seen with this style before, and reports
// whether it did.
func (t *Terminal) knownSGR(params uint64) bool {
	pen := &t.cur.pen
	if pen.match != penExact {
		return false
	}
	from := pen.bits.style()
	steps := t.styles.steps.of(params, from)
	step := &steps[0]
	if step.params != params || step.from != from {
		if step = &steps[1]; step.params != params || step.from != from {
			return false
		}
	}
	pen.style = t.styles.list[step.to]
	pen.bits = pen.bits&cellProtected | cell(step.to)<<styleShift
	return true
}

// learnSGR executes an SGR whose parameters were read, and remembers it if it
// is short.
func (t *Terminal) learnSGR(text []byte) {
	pen := &t.cur.pen
	before := *pen
	t.sgr()
	if len(text) > 8 || before.match != penExact {
		return
	}
	t.freshenPen()
	from, to := before.bits.style(), pen.bits.style()
	if pen.match != penExact || t.styles.list[from] != before.style {
		return // the table is full, or was swept
	}
	var params [8]byte
	copy(params[:], text)
	step := sgrStep{binary.LittleEndian.Uint64(params[:]), from, to}
	steps := t.styles.steps.of(step.params, from)
	steps[0], steps[1] = step, steps[0]
}

// sgr applies SGR parameters to the pen.
func (t *Terminal) sgr() {
	p := &t.parser.params
	pen := &t.cur.pen
	pen.match = penStale
	s := &pen.style
	if p.n == 0 {
		*s = style{link: s.link}
		return
	}
	for i := 0; i < p.n; i++ {
		v := p.v[i]
		switch v {
		case 0:
			// A hyperlink is not an attribute: only OSC 8 ends it.
			*s = style{link: s.link}
		case 1:
			s.attrs |= Bold
		case 2:
			s.attrs |= Dim
		case 3:
			s.attrs |= Italic
		case 4:
			s.underline = UnderlineSingle
			if p.joined(i + 1) {
				i++
				if u := p.v[i]; u <= int32(UnderlineDashed) {
					s.underline = Underline(u)
				}
			}
		case 5, 6:
			s.attrs |= Blink
		case 7:
			s.attrs |= Inverse
		case 8:
			s.attrs |= Hidden
		case 9:
			s.attrs |= Strike
		case 21:
			s.underline = UnderlineDouble
		case 22:
			s.attrs &^= Bold | Dim
		case 23:
			s.attrs &^= Italic
		case 24:
			s.underline = UnderlineNone
		case 25:
			s.attrs &^= Blink
		case 27:
			s.attrs &^= Inverse
		case 28:
			s.attrs &^= Hidden
		case 29:
			s.attrs &^= Strike
		case 38:
			i = p.color(i, &s.fg)
		case 39:
			s.fg = 0
		case 48:
			i = p.color(i, &s.bg)
		case 49:
			s.bg = 0
		case 53:
			s.attrs |= Overline
		case 55:
			s.attrs &^= Overline
		case 58:
			i = p.color(i, &s.ul)
		case 59:
			s.ul = 0
		default:
			switch {
			case v >= 30 && v <= 37:
				s.fg = Indexed(uint8(v - 30))
			case v >= 40 && v <= 47:
				s.bg = Indexed(uint8(v - 40))
			case v >= 90 && v <= 97:
				s.fg = Indexed(uint8(v - 90 + 8))
			case v >= 100 && v <= 107:
				s.bg = Indexed(uint8(v - 100 + 8))
			}
		}
		for p.joined(i + 1) {
			i++ // subparameters that nobody asked for
		}
	}
}

// color reads the colour after parameter i, in either form: 38;2;r;g;b and
// 38;5;n, or 38:2:[space]:r:g:b and 38:5:n. It returns the last parameter used.
func (p *params) color(i int, c *Color) int {
	if i+1 >= p.n {
		return i
	}
	if p.joined(i + 1) {
		last := i + 1
		for p.joined(last + 1) {
			last++
		}
		args := p.v[i+1 : last+1]
		switch {
		case args[0] == 5 && len(args) >= 2:
			setIndexed(c, args[1])
		case args[0] == 2 && len(args) == 4:
			setTrue(c, args[1:])
		case args[0] == 2 && len(args) > 4:
			setTrue(c, args[2:])
		}
		return last
	}
	switch p.v[i+1] {
	case 5:
		if i+2 < p.n {
			setIndexed(c, p.v[i+2])
		}
		return min(i+2, p.n-1)
	case 2:
		if i+4 < p.n {
			setTrue(c, p.v[i+2:i+5])
		}
		return min(i+4, p.n-1)
	}
	return i + 1
}

func setIndexed(c *Color, v int32) {
	if v <= 255 {
		*c = Indexed(uint8(v))
	}
}

func setTrue(c *Color, v []int32) {
	if v[0] <= 255 && v[1] <= 255 && v[2] <= 255 {
		*c = TrueColor(RGB{uint8(v[0]), uint8(v[1]), uint8(v[2])})
	}
}
