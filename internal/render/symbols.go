package render

// shapeOf returns the geometry of a character, or nil: then a font has it.
func shapeOf(r rune, w, h int, px float64) *shape {
	switch {
	case r < 0x2500:
		return nil
	case r <= 0x257f:
		return boxShape(r, w, h, px)
	case r <= 0x259f:
		return blockShape(r, w, h)
	case r >= 0x2800 && r <= 0x28ff:
		return brailleShape(r, w, h)
	case r >= 0xe0b0 && r <= 0xe0bf:
		return powerlineShape(r, w, h, px)
	case r >= 0x1fb00 && r <= 0x1fb3b:
		return sextantShape(r, w, h)
	case r >= 0x1fb70 && r <= 0x1fb7b, r >= 0x1fb82 && r <= 0x1fb8b:
		return eighthShape(r, w, h)
	}
	return nil
}

// missingShape returns a box in place of a character that no font has.
func missingShape(w, h int, px float64) *shape {
	light, _ := lineWidths(px)
	s := &shape{}
	x0, x1 := max(1, w/9), w-max(1, w/9)
	y0, y1 := h/5, h-h/5
	s.fill(x0+light, y0, x1-light, y0+light)
	s.fill(x0+light, y1-light, x1-light, y1)
	s.fill(x0, y0+light, x0+light, y1-light)
	s.fill(x1-light, y0+light, x1, y1-light)
	return s
}
