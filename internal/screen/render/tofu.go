package render

import "strconv"

// hexDigits are the figures of a box that stands for a character that no font
// has: three columns and five rows each, row by row from the highest bit.
var hexDigits = [16]uint16{
	0b111_101_101_101_111, 0b010_110_010_010_111, 0b111_001_111_100_111, 0b111_001_111_001_111,
	0b101_101_111_001_001, 0b111_100_111_001_111, 0b111_100_111_101_111, 0b111_001_010_010_010,
	0b111_101_111_101_111, 0b111_101_111_001_111, 0b111_101_111_101_101, 0b110_101_110_101_110,
	0b111_100_100_100_111, 0b110_101_101_101_110, 0b111_100_111_100_111, 0b111_100_111_100_100,
}

// tofuShape returns the box that stands for a character that no font has, with
// the character's number on it: nobody takes it for a character. Where there is
// no room for figures the box is crossed out.
func tofuShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	dot := min(w/9, h/20)
	if dot < 1 {
		crossedBox(s, w, h, px)
		return s
	}
	const ground = full / 4
	code := strconv.FormatInt(int64(r), 16)
	perRow := 2
	if w >= 2*h*9/20 { // a wide character
		perRow = 3
	}
	for len(code) < 4 || len(code)%perRow != 0 {
		code = "0" + code
	}
	rows := len(code) / perRow
	left := (w - (4*perRow-1)*dot) / 2
	top := (h - (6*rows-1)*dot) / 2
	s.shade(0, top-dot, w, top+6*rows*dot, ground)
	for i := range len(code) {
		v, _ := strconv.ParseUint(code[i:i+1], 16, 8) // it was printed above
		digit(s, int(v), left+i%perRow*4*dot, top+i/perRow*6*dot, dot)
	}
	return s
}

func digit(s *shape, v, x, y, dot int) {
	for row := range 5 {
		for col := range 3 {
			if hexDigits[v]>>(14-3*row-col)&1 == 1 {
				s.fill(x+col*dot, y+row*dot, x+(col+1)*dot, y+(row+1)*dot)
			}
		}
	}
}

func crossedBox(s *shape, w, h int, px float64) {
	light, _ := lineWidths(px)
	s.outline(0, light, w, h-light, light)
	x, y := newStrokes(w, px), newStrokes(h, px)
	diagonal(s, x, y, true)
	diagonal(s, x, y, false)
}

// outline draws the four sides of a box.
func (s *shape) outline(x0, y0, x1, y1, thick int) {
	s.fill(x0, y0, x1, y0+thick)
	s.fill(x0, y1-thick, x1, y1)
	s.fill(x0, y0+thick, x0+thick, y1-thick)
	s.fill(x1-thick, y0+thick, x1, y1-thick)
}
