package render

// powerlineShape draws a character from U+E0B0 to U+E0BF: the separators of
// status lines, which must fill their cells to the edge.
func powerlineShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	fw, fh := float64(w), float64(h)
	light, _ := lineWidths(px)
	thin := float64(light)
	switch r {
	case 0xe0b0:
		s.polygon([2]float64{0, 0}, [2]float64{fw, fh / 2}, [2]float64{0, fh})
	case 0xe0b1:
		chevron(s, 0, fw-thin, fh, thin)
	case 0xe0b2:
		s.polygon([2]float64{fw, 0}, [2]float64{0, fh / 2}, [2]float64{fw, fh})
	case 0xe0b3:
		chevron(s, fw-thin, 0, fh, thin)
	case 0xe0b4:
		halfDisc(s, 0, fw, fh)
	case 0xe0b5:
		halfRing(s, 0, fw, fh, thin)
	case 0xe0b6:
		halfDisc(s, fw, -fw, fh)
	case 0xe0b7:
		halfRing(s, fw, -fw, fh, thin)
	case 0xe0b8:
		s.polygon([2]float64{0, 0}, [2]float64{fw, fh}, [2]float64{0, fh})
	case 0xe0ba:
		s.polygon([2]float64{fw, 0}, [2]float64{fw, fh}, [2]float64{0, fh})
	case 0xe0bc:
		s.polygon([2]float64{0, 0}, [2]float64{fw, 0}, [2]float64{0, fh})
	case 0xe0be:
		s.polygon([2]float64{0, 0}, [2]float64{fw, 0}, [2]float64{fw, fh})
	case 0xe0b9, 0xe0bf:
		diagonal(s, newStrokes(w, px), newStrokes(h, px), false)
	case 0xe0bb, 0xe0bd:
		diagonal(s, newStrokes(w, px), newStrokes(h, px), true)
	}
	return s
}

// chevron is an open arrow from the edge at x to its tip and back.
func chevron(s *shape, x, tip, h, thin float64) {
	s.polygon(
		[2]float64{x, 0}, [2]float64{x + thin, 0}, [2]float64{tip + thin, h / 2}, [2]float64{x + thin, h},
		[2]float64{x, h}, [2]float64{tip, h / 2})
}

const kappa = 0.5523 // of a quarter circle as one curve

// halfDisc draws half a disc on the edge at x that extends by reach to one
// side.
func halfDisc(s *shape, x, reach, h float64) {
	s.moveTo(x, 0)
	s.bulge(x, reach, 0, h)
	s.close()
}

func (s *shape) bulge(x, reach, top, bottom float64) {
	mid, k := (top+bottom)/2, kappa*(bottom-top)/2
	s.curveTo(x+kappa*reach, top, x+reach, mid-k, x+reach, mid)
	s.curveTo(x+reach, mid+k, x+kappa*reach, bottom, x, bottom)
}

func halfRing(s *shape, x, reach, h, thin float64) {
	inner := reach - thin
	if reach < 0 {
		inner = reach + thin
	}
	s.moveTo(x, 0)
	s.bulge(x, reach, 0, h)
	s.lineTo(x, h-thin)
	s.bulge(x, inner, h-thin, thin) // back, inside
	s.close()
}
