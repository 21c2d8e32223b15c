package render

import "math"

// shapeOf returns the geometry of a character, or nil: then a font has it.
func shapeOf(r rune, w, h int, px float64) *shape {
	switch {
	case r == 0x23be, r == 0x23bf, r == 0x23cb, r == 0x23cc:
		return cornerShape(r, w, h, px)
	case r < 0x2500:
		return nil
	case r <= 0x257f:
		return boxShape(r, w, h, px)
	case r <= 0x259f:
		return blockShape(r, w, h)
	case r == 0x276e, r == 0x276f:
		return promptShape(w, px, r == 0x276f)
	case r >= 0x2800 && r <= 0x28ff:
		return brailleShape(r, w, h)
	case r >= 0xe0b0 && r <= 0xe0bf:
		return powerlineShape(r, w, h, px)
	case r >= 0x1fb00 && r <= 0x1fb3b:
		return sextantShape(r, w, h)
	case r >= 0x1fb3c && r <= 0x1fb6f:
		return wedgeShape(r, w, h)
	case r >= 0x1fb70 && r <= 0x1fb7b, r >= 0x1fb82 && r <= 0x1fb8b:
		return eighthShape(r, w, h)
	case r >= 0x1fb7c && r <= 0x1fb81:
		return edgesShape(r, w, h)
	case r >= 0x1fb8c && r <= 0x1fb9b && r != 0x1fb93:
		return fillShape(r, w, h, px)
	case r >= 0x1fba0 && r <= 0x1fbaf:
		return slantShape(r, w, h, px)
	}
	return nil
}

// solid reports that a character fills a part of its cell: it makes pictures,
// bars and borders, not text.
func solid(r rune) bool {
	return r >= 0x2580 && r <= 0x259f || r >= 0xe0b0 && r <= 0xe0d7 || r >= 0x1fb00 && r <= 0x1fb9f
}

// baselineOf is where letters of a size stand, below the top of their cells:
// the main font's ascent.
func baselineOf(px float64) float64 { return math.Round(px * 1.02) }

// cornerShape draws the corners of dentistry, under which coding agents hang
// results. In fonts they are letters: an L beside words reads as one.
func cornerShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	x := newStrokes(w, px)
	light, _ := lineWidths(px)
	end := min(h, int(baselineOf(px)))
	top := 0
	if r == 0x23be || r == 0x23cb {
		top, end = h-end, h
	}
	s.fill(x.light, top, x.lightEnd, end)
	at := end - light
	if top > 0 {
		at = top
	}
	if r == 0x23be || r == 0x23bf {
		s.fill(x.lightEnd, at, w, at+light)
	} else {
		s.fill(0, at, x.light, at+light)
	}
	return s
}

// promptShape draws the heavy angle that prompts end with, as tall as capital
// letters.
func promptShape(w int, px float64, right bool) *shape {
	s := &shape{}
	fw, bottom := float64(w), baselineOf(px)
	top, thick := bottom-0.72*px, 0.17*px
	from, tip := fw/2-0.25*px, fw/2+0.25*px
	if !right {
		from, tip, thick = fw-from, fw-tip, -thick
	}
	middle := (top + bottom) / 2
	s.polygon([2]float64{from, top}, [2]float64{from + thick, top}, [2]float64{tip, middle}, [2]float64{from + thick, bottom},
		[2]float64{from, bottom}, [2]float64{tip - thick, middle})
	return s
}
