package render

// The symbols for legacy computing that fill their cells: mosaics with slopes,
// edges, fills and thin diagonals. The others of the block come from a font.

// The points between which the slopes of mosaics run, from left to right, in
// halves of the width and thirds of the height.
var wedgeLines = [22]struct {
	from, to [2]int
}{
	{[2]int{0, 2}, [2]int{1, 3}}, {[2]int{0, 2}, [2]int{2, 3}}, {[2]int{0, 1}, [2]int{1, 3}},
	{[2]int{0, 1}, [2]int{2, 3}}, {[2]int{0, 0}, [2]int{1, 3}},
	{[2]int{0, 1}, [2]int{1, 0}}, {[2]int{0, 1}, [2]int{2, 0}}, {[2]int{0, 2}, [2]int{1, 0}},
	{[2]int{0, 2}, [2]int{2, 0}}, {[2]int{0, 3}, [2]int{1, 0}}, {[2]int{0, 2}, [2]int{2, 1}},
	{[2]int{1, 3}, [2]int{2, 2}}, {[2]int{0, 3}, [2]int{2, 2}}, {[2]int{1, 3}, [2]int{2, 1}},
	{[2]int{0, 3}, [2]int{2, 1}}, {[2]int{1, 3}, [2]int{2, 0}},
	{[2]int{1, 0}, [2]int{2, 1}}, {[2]int{0, 0}, [2]int{2, 1}}, {[2]int{1, 0}, [2]int{2, 2}},
	{[2]int{0, 0}, [2]int{2, 2}}, {[2]int{1, 0}, [2]int{2, 3}}, {[2]int{0, 1}, [2]int{2, 2}},
}

// wedgeShape draws a character from U+1FB3C to U+1FB6F: a line cuts the cell,
// and what is below it is filled; from U+1FB52 on what is above the same lines. From U+1FB68 on the diagonals make four triangles.
func wedgeShape(r rune, w, h int) *shape {
	s := &shape{}
	fw, fh := float64(w), float64(h)
	if r >= 0x1fb68 {
		quarters(s, r, fw, fh)
		return s
	}
	n := int(r - 0x1fb3c)
	upper := n >= len(wedgeLines)
	l := wedgeLines[n%len(wedgeLines)]
	a := [2]float64{fw * float64(l.from[0]) / 2, fh * float64(l.from[1]) / 3}
	b := [2]float64{fw * float64(l.to[0]) / 2, fh * float64(l.to[1]) / 3}
	s.polygon(clipped(fw, fh, a, b, upper)...)
	return s
}

// clipped returns the part of the cell on one side of the line from a to b,
// which goes to the right: below it, or above.
func clipped(w, h float64, a, b [2]float64, above bool) [][2]float64 {
	side := func(p [2]float64) float64 {
		d := (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0])
		if above {
			return -d
		}
		return d
	}
	corners := [4][2]float64{{0, 0}, {w, 0}, {w, h}, {0, h}}
	var out [][2]float64
	for i, p := range corners {
		q := corners[(i+1)%4]
		dp, dq := side(p), side(q)
		if dp >= 0 {
			out = append(out, p)
		}
		if dp > 0 && dq < 0 || dp < 0 && dq > 0 {
			t := dp / (dp - dq)
			out = append(out, [2]float64{p[0] + t*(q[0]-p[0]), p[1] + t*(q[1]-p[1])})
		}
	}
	return out
}

// quarters draws the triangles between the cell's diagonals: one of them, or
// three.
func quarters(s *shape, r rune, w, h float64) {
	corners := [4][2]float64{{0, h}, {0, 0}, {w, 0}, {w, h}} // the left triangle is between the first two
	for i := range 4 {
		if r >= 0x1fb6c && int(r-0x1fb6c) == i || r < 0x1fb6c && int(r-0x1fb68) != i {
			s.polygon(corners[i], corners[(i+1)%4], [2]float64{w / 2, h / 2})
		}
	}
}

// edgesShape draws a character from U+1FB7C to U+1FB81: eighths at the edges.
func edgesShape(r rune, w, h int) *shape {
	s := &shape{}
	ew, eh := part(w, 1), part(h, 1)
	left, right := func() { s.fill(0, 0, ew, h) }, func() { s.fill(w-ew, 0, w, h) }
	upper, lower := func() { s.fill(0, 0, w, eh) }, func() { s.fill(0, h-eh, w, h) }
	switch r {
	case 0x1fb7c:
		left()
		lower()
	case 0x1fb7d:
		left()
		upper()
	case 0x1fb7e:
		right()
		upper()
	case 0x1fb7f:
		right()
		lower()
	case 0x1fb80:
		upper()
		lower()
	default: // the first, third, fifth and eighth eighth
		upper()
		lower()
		s.fill(0, h*2/8, w, h*3/8)
		s.fill(0, h*4/8, w, h*5/8)
	}
	return s
}

// fillShape draws a character from U+1FB8C to U+1FB9B: shades, patterns and
// triangles.
func fillShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	x, y := part(w, 4), part(h, 4)
	const medium = full / 2
	switch r {
	case 0x1fb8c:
		s.shade(0, 0, x, h, medium)
	case 0x1fb8d:
		s.shade(x, 0, w, h, medium)
	case 0x1fb8e:
		s.shade(0, 0, w, y, medium)
	case 0x1fb8f:
		s.shade(0, y, w, h, medium)
	case 0x1fb90:
		s.shade(0, 0, w, h, medium)
	case 0x1fb91:
		s.fill(0, 0, w, y)
		s.shade(0, y, w, h, medium)
	case 0x1fb92:
		s.shade(0, 0, w, y, medium)
		s.fill(0, y, w, h)
	case 0x1fb94:
		s.shade(0, 0, x, h, medium)
		s.fill(x, 0, w, h)
	case 0x1fb95, 0x1fb96:
		checkers(s, w, h, int(r-0x1fb95))
	case 0x1fb97:
		s.fill(0, h/4, w, h/2)
		s.fill(0, h*3/4, w, h)
	case 0x1fb98, 0x1fb99:
		hatch(s, w, h, px, r == 0x1fb99)
	case 0x1fb9a:
		quarters(s, 0x1fb6d, float64(w), float64(h))
		quarters(s, 0x1fb6f, float64(w), float64(h))
	case 0x1fb9b:
		quarters(s, 0x1fb6c, float64(w), float64(h))
		quarters(s, 0x1fb6e, float64(w), float64(h))
	}
	return s
}

// checkers fills every other of four times eight fields.
func checkers(s *shape, w, h, first int) {
	for row := range 8 {
		for col := range 4 {
			if (row+col)%2 == first {
				s.fill(w*col/4, h*row/8, w*(col+1)/4, h*(row+1)/8)
			}
		}
	}
}

// hatch draws thin diagonals, four a cell, that go on in the next cell.
func hatch(s *shape, w, h int, px float64, rising bool) {
	light, _ := lineWidths(px)
	fw, fh := float64(w), float64(h)
	thick, step := float64(light), fh/4
	for i := -4; i < 4; i++ {
		top := float64(i) * step
		a, b := top, top+fh
		if rising {
			a, b = b, a
		}
		band := [][2]float64{{0, a}, {fw, b}, {fw, b + thick}, {0, a + thick}}
		s.polygon(within(band, fh)...)
	}
}

// within cuts a polygon at the upper and the lower edge of the cell.
func within(points [][2]float64, h float64) [][2]float64 {
	for _, edge := range [2]struct{ at, sign float64 }{{0, 1}, {h, -1}} {
		var out [][2]float64
		for i, p := range points {
			q := points[(i+1)%len(points)]
			dp, dq := (p[1]-edge.at)*edge.sign, (q[1]-edge.at)*edge.sign
			if dp >= 0 {
				out = append(out, p)
			}
			if dp > 0 && dq < 0 || dp < 0 && dq > 0 {
				t := dp / (dp - dq)
				out = append(out, [2]float64{p[0] + t*(q[0]-p[0]), edge.at})
			}
		}
		points = out
	}
	return points
}

// slants are the lines of the characters from U+1FBA0 on: upper left, upper
// right, lower left and lower right from bit 0 on.
var slants = [15]uint8{1, 2, 4, 8, 1 | 4, 2 | 8, 4 | 8, 1 | 2, 1 | 8, 2 | 4, 2 | 4 | 8, 1 | 4 | 8, 1 | 2 | 8, 1 | 2 | 4, 15}

// slantShape draws a character from U+1FBA0 to U+1FBAF: thin diagonals between
// the middles of the cell's edges.
func slantShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	x, y := newStrokes(w, px), newStrokes(h, px)
	if r == 0x1fbaf {
		s.fill(0, y.light, w, y.lightEnd)
		s.fill(x.light, h/4, x.lightEnd, h-h/4)
		return s
	}
	fw, fh, half := float64(w), float64(h), x.thin*0.6
	ends := [4][2][2]float64{
		{{0, y.center}, {x.center, 0}}, {{x.center, 0}, {fw, y.center}},
		{{0, y.center}, {x.center, fh}}, {{x.center, fh}, {fw, y.center}},
	}
	for i, e := range ends {
		if slants[r-0x1fba0]>>i&1 == 1 {
			a, b := e[0], e[1]
			s.polygon([2]float64{a[0], a[1] - half}, [2]float64{b[0], b[1] - half}, [2]float64{b[0], b[1] + half}, [2]float64{a[0], a[1] + half})
		}
	}
	return s
}
