package render

import "math"

// luminance is that of WCAG: from 0 for black to 1 for white.
func (c Color) luminance() float64 {
	part := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}

// contrast is that of WCAG: from 1 for none to 21 for black on white.
func contrast(a, b Color) float64 {
	la, lb := a.luminance(), b.luminance()
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

// readable moves a colour towards black or white until text in it can be read
// on bg: the way that it lies already, if that leads far enough. Text in its
// background's colour is meant not to be read.
func readable(fg, bg Color, least float64) Color {
	if least <= 1 || fg == bg || contrast(fg, bg) >= least {
		return fg
	}
	black, white := rgb(0), rgb(0xffffff)
	towards, other := black, white
	if fg.luminance() > bg.luminance() {
		towards, other = white, black
	}
	if contrast(towards, bg) < least && contrast(other, bg) > contrast(towards, bg) {
		towards = other
	}
	for level := 1; level < full; level++ {
		if c := mix(towards, fg, level); contrast(c, bg) >= least {
			return c
		}
	}
	return towards
}
