package render

import (
	"math"

	"den/internal/screen/vt"
)

// decor is the lines on and under letters, for one size of cells.
type decor struct {
	thick                 int
	underY, strikeY       int
	doubleY               int // of the upper one of two lines
	curly, dotted, dashed *mask
}

func newDecor(w, h int, px, baseline float64) decor {
	light, _ := lineWidths(px)
	d := decor{thick: light}
	d.underY = min(int(baseline+math.Max(1, px*0.12)), h-light-1)
	d.doubleY = min(d.underY, h-3*light)
	d.strikeY = int(baseline - px*0.32)
	d.curly = curlyMask(w, h, d.underY, light)
	d.dotted = repeated(w, d.underY, light, light, 2*light)
	d.dashed = repeated(w, d.underY, light, max(2, w/3), max(3, w/2))
	return d
}

// repeated returns a line of marks of the given length and distance. The
// distance is adjusted to divide the cell, so that the line continues in the
// next.
func repeated(w, y, thick, length, distance int) *mask {
	n := max(1, int(float64(w)/float64(distance)+0.5))
	m := &mask{y: y, w: w, h: thick, level: make([]uint8, w*thick)}
	for i := range n {
		from := w * i / n
		for x := from; x < min(from+length, w); x++ {
			for row := range thick {
				m.level[row*w+x] = full
			}
		}
	}
	return m
}

// curlyMask is one wave a cell.
func curlyMask(w, h, y, thick int) *mask {
	amplitude := math.Max(1, float64(thick)*1.3)
	middle := math.Min(float64(y)+float64(thick)/2, float64(h)-amplitude-float64(thick)/2-0.2)
	s := &shape{}
	half := float64(thick) * 0.62
	wave := func(x float64) float64 { return middle + amplitude*math.Sin(2*math.Pi*x/float64(w)) }
	const steps = 24
	for i := range steps + 1 {
		x := float64(w) * float64(i) / steps
		if i == 0 {
			s.moveTo(x, wave(x)-half)
		} else {
			s.lineTo(x, wave(x)-half)
		}
	}
	for i := steps; i >= 0; i-- {
		x := float64(w) * float64(i) / steps
		s.lineTo(x, wave(x)+half)
	}
	s.close()
	return s.mask(w, h)
}

// decorate draws the lines of a cell whose box is at (x,y).
func decorate[P pixel](c *canvas[P], d *decor, cell *Cell, x, y, w int) {
	line := func(at int, color Color) { c.rect(x, y+at, x+w, y+at+d.thick, color) }
	switch cell.Underline {
	case vt.UnderlineNone:
	case vt.UnderlineDouble:
		line(d.doubleY, cell.UnderlineColor)
		line(d.doubleY+2*d.thick, cell.UnderlineColor)
	case vt.UnderlineCurly:
		c.over(d.curly, x, y, cell.UnderlineColor, cell.BG)
	case vt.UnderlineDotted:
		c.over(d.dotted, x, y, cell.UnderlineColor, cell.BG)
	case vt.UnderlineDashed:
		c.over(d.dashed, x, y, cell.UnderlineColor, cell.BG)
	default:
		line(d.underY, cell.UnderlineColor)
	}
	if cell.Strike {
		line(d.strikeY, cell.FG)
	}
	if cell.Over {
		line(0, cell.FG)
	}
}
