package render

// strokes are the places of lines in a cell, in one direction: where a light,
// a heavy and a double line lie across it.
type strokes struct {
	size               int // of the cell, in this direction
	light, lightEnd    int
	heavy, heavyEnd    int
	outer, inner       int // the first line of a double one: outer to inner
	innerEnd, outerEnd int // the second
	center, thin       float64
}

// lineWidths are the widths of light and heavy lines. Both are odd or both
// even, so that both lie around the same middle.
func lineWidths(px float64) (light, heavy int) {
	light = max(1, int(px/12+0.5))
	if light == 1 {
		return 1, 3
	}
	return light, 2*light - light%2
}

func newStrokes(size int, px float64) strokes {
	light, heavy := lineWidths(px)
	gap := light // between the lines of a double one, of the same parity
	if light == 1 && size >= 7 {
		gap = 3
	}
	s := strokes{size: size}
	s.light = (size - light) / 2
	s.lightEnd = s.light + light
	s.heavy = s.light - (heavy-light)/2
	s.heavyEnd = s.heavy + heavy
	s.inner = s.light - (gap-light)/2
	s.innerEnd = s.inner + gap
	s.outer, s.outerEnd = s.inner-light, s.innerEnd+light
	s.thin = float64(light)
	s.center = float64(s.light) + s.thin/2
	return s
}

// reach says how far an arm goes beyond the middle: to the far side of what
// crosses it, so that corners are filled and no line sticks out.
//
// a and b are the weights of the crossing arms, self and opposite those of the
// arm and of the one that goes on behind the crossing. fromLow is for the arms
// that begin at the left or at the top.
func (s *strokes) reach(a, b, self, opposite byte, fromLow bool) int {
	pick := func(low, high int) int {
		if fromLow {
			return high
		}
		return low
	}
	switch {
	case a == 'h' || b == 'h':
		return pick(s.heavy, s.heavyEnd)
	case a != b || self == opposite:
		if a == 'd' || b == 'd' {
			return pick(s.outer, s.outerEnd)
		}
		return pick(s.light, s.lightEnd)
	case a == '-':
		return pick(s.light, s.lightEnd)
	case a == 'd': // both are double, and this arm ends at them
		return pick(s.innerEnd, s.inner)
	}
	return pick(s.lightEnd, s.light)
}

// boxShape draws a character from U+2500 to U+257F.
func boxShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	x, y := newStrokes(w, px), newStrokes(h, px)
	arms := boxArms[r-0x2500]
	if arms == "----" {
		boxSpecial(s, r, x, y)
		return s
	}
	left, right, up, down := arms[0], arms[1], arms[2], arms[3]
	horizontal := func(x0, x1, y0, y1 int) { s.fill(x0, y0, x1, y1) }
	vertical := func(y0, y1, x0, x1 int) { s.fill(x0, y0, x1, y1) }
	arm(horizontal, left, y, 0, x.reach(up, down, left, right, true), up, down, x.inner)
	arm(horizontal, right, y, x.reach(up, down, right, left, false), w, up, down, x.innerEnd)
	arm(vertical, up, x, 0, y.reach(left, right, up, down, true), left, right, y.inner)
	arm(vertical, down, x, y.reach(left, right, down, up, false), h, left, right, y.innerEnd)
	return s
}

// arm fills one arm from..to along its direction, across which the lines lie
// as s says. Each line of a double arm ends at inner where the arm beside it
// is double too: their inner lines make a corner.
func arm(fill func(from, to, low, high int), weight byte, s strokes, from, to int, lowSide, highSide byte, inner int) {
	at := func(side byte) (int, int) {
		switch {
		case side != 'd':
			return from, to
		case from == 0:
			return from, inner
		default:
			return inner, to
		}
	}
	switch weight {
	case 'l':
		fill(from, to, s.light, s.lightEnd)
	case 'h':
		fill(from, to, s.heavy, s.heavyEnd)
	case 'd':
		f, t := at(lowSide)
		fill(f, t, s.outer, s.inner)
		f, t = at(highSide)
		fill(f, t, s.innerEnd, s.outerEnd)
	}
}

// boxSpecial draws dashes, arcs and diagonals.
func boxSpecial(s *shape, r rune, x, y strokes) {
	switch {
	case r >= 0x2504 && r <= 0x250b:
		n := 3 + int(r-0x2504)/4
		dashes(s, n, r&1 != 0, r&2 != 0, x, y)
	case r >= 0x254c && r <= 0x254f:
		dashes(s, 2, r&1 != 0, r&2 != 0, x, y)
	case r == 0x256d:
		arc(s, x, y, 1, 1)
	case r == 0x256e:
		arc(s, x, y, -1, 1)
	case r == 0x256f:
		arc(s, x, y, -1, -1)
	case r == 0x2570:
		arc(s, x, y, 1, -1)
	}
	if r == 0x2571 || r == 0x2573 {
		diagonal(s, x, y, true)
	}
	if r == 0x2572 || r == 0x2573 {
		diagonal(s, x, y, false)
	}
}

func dashes(s *shape, n int, heavy, vertical bool, x, y strokes) {
	along, across := x, y
	if vertical {
		along, across = y, x
	}
	low, high := across.light, across.lightEnd
	if heavy {
		low, high = across.heavy, across.heavyEnd
	}
	gap := max(1, along.size/(n*3))
	for i := range n {
		from, to := along.size*i/n+gap/2, along.size*(i+1)/n-(gap-gap/2)
		if vertical {
			s.fill(low, from, high, to)
		} else {
			s.fill(from, low, to, high)
		}
	}
}

// arc draws a rounded corner whose arms go towards (dx,dy): from the edge
// around the outside of the corner, and back along its inside.
func arc(s *shape, x, y strokes, dx, dy float64) {
	radius := min(float64(x.size), float64(y.size)) / 2
	half := x.thin / 2
	outer, inner := radius+half, radius-half
	cx, cy := x.center+dx*radius, y.center+dy*radius // of the circle
	edgeX, edgeY := 0.0, 0.0
	if dx > 0 {
		edgeX = float64(x.size)
	}
	if dy > 0 {
		edgeY = float64(y.size)
	}
	s.moveTo(cx-dx*outer, edgeY)
	s.lineTo(cx-dx*outer, cy)
	s.curveTo(cx-dx*outer, cy-dy*kappa*outer, cx-dx*kappa*outer, cy-dy*outer, cx, cy-dy*outer)
	s.lineTo(edgeX, cy-dy*outer)
	s.lineTo(edgeX, cy-dy*inner)
	s.lineTo(cx, cy-dy*inner)
	s.curveTo(cx-dx*kappa*inner, cy-dy*inner, cx-dx*inner, cy-dy*kappa*inner, cx-dx*inner, cy)
	s.lineTo(cx-dx*inner, edgeY)
	s.close()
}

// diagonal extends slightly beyond the corners, so that it joins the next
// cell's.
func diagonal(s *shape, x, y strokes, rising bool) {
	w, h := float64(x.size), float64(y.size)
	dx := x.thin * 0.6 // of the line's half, measured along the edge
	a, b := 0.0, w
	if rising {
		a, b = w, 0
	}
	over := 2.0
	slope := (b - a) / h
	s.polygon(
		[2]float64{a - over*slope - dx, -over}, [2]float64{a - over*slope + dx, -over},
		[2]float64{b + over*slope + dx, h + over}, [2]float64{b + over*slope - dx, h + over})
}

// boxArms has the four arms of each box drawing character from U+2500 on:
// left, right, up, down. l is a light line, h a heavy and d a double one.
// Dashes, arcs and diagonals have none: see boxSpecial.
var boxArms = [128]string{
	"ll--", "hh--", "--ll", "--hh", "----", "----", "----", "----", "----", "----", "----", "----", "-l-l", "-h-l", "-l-h", "-h-h",
	"l--l", "h--l", "l--h", "h--h", "-ll-", "-hl-", "-lh-", "-hh-", "l-l-", "h-l-", "l-h-", "h-h-", "-lll", "-hll", "-lhl", "-llh",
	"-lhh", "-hhl", "-hlh", "-hhh", "l-ll", "h-ll", "l-hl", "l-lh", "l-hh", "h-hl", "h-lh", "h-hh", "ll-l", "hl-l", "lh-l", "hh-l",
	"ll-h", "hl-h", "lh-h", "hh-h", "lll-", "hll-", "lhl-", "hhl-", "llh-", "hlh-", "lhh-", "hhh-", "llll", "hlll", "lhll", "hhll",
	"llhl", "lllh", "llhh", "hlhl", "lhhl", "hllh", "lhlh", "hhhl", "hhlh", "hlhh", "lhhh", "hhhh", "----", "----", "----", "----",
	"dd--", "--dd", "-d-l", "-l-d", "-d-d", "d--l", "l--d", "d--d", "-dl-", "-ld-", "-dd-", "d-l-", "l-d-", "d-d-", "-dll", "-ldd",
	"-ddd", "d-ll", "l-dd", "d-dd", "dd-l", "ll-d", "dd-d", "ddl-", "lld-", "ddd-", "ddll", "lldd", "dddd", "----", "----", "----",
	"----", "----", "----", "----", "l---", "--l-", "-l--", "---l", "h---", "--h-", "-h--", "---h", "lh--", "--lh", "hl--", "--hl",
}
