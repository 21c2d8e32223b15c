package render

import (
	"fmt"

	"den/internal/screen/vt"
)

// double returns a renderer whose cells are twice as wide and high, for rows of
// double size.
func (r *Renderer) double() *Renderer {
	if r.twice == nil {
		d := &Renderer{o: r.o, theme: r.theme}
		d.glyphs = glyphs{
			cellW: 2 * r.cellW, cellH: 2 * r.cellH, px: 2 * r.px, baseline: 2 * r.baseline,
			fonts: r.fonts, simple: map[uint64]*mask{}, clusters: map[clusterKey]*mask{}, missing: r.missing,
		}
		d.decor = newDecor(d.cellW, d.cellH, d.px, d.baseline)
		r.twice = d
	}
	return r.twice
}

// paintDouble draws row y of g, which has characters of double size. They are
// drawn twice as large beside the picture; one half of that is the row, or, if
// only their width is double, each two of its pixel rows are one.
func paintDouble[P pixel](r *Renderer, c *canvas[P], g *Grid, cells []Cell, y int) {
	d := r.double()
	large := newCanvas(len(cells)*d.cellW, d.cellH, 0, trueColors{})
	large.coarse = c.coarse
	paintRow(d, large, &Grid{Cols: len(cells), Rows: 1, Cells: cells}, 0, 0, len(cells))
	left, top, right := r.margin, r.margin+r.bar+y*r.cellH, r.margin+g.Cols*r.cellW
	w := min(large.w, right-left)
	c.rect(left+w, top, right, top+r.cellH, g.Background) // of an odd number of columns
	for row := range r.cellH {
		upper, lower := 2*row, 2*row+1
		switch g.size(y) {
		case vt.DoubleTop:
			upper, lower = row, row
		case vt.DoubleBottom:
			upper, lower = r.cellH+row, r.cellH+row
		}
		squash(c, c.row(top+row, left, left+w), large.row(upper, 0, w), large.row(lower, 0, w))
	}
}

// squash makes one row of pixels of two.
func squash[P pixel](c *canvas[P], dst []P, upper, lower []uint32) {
	var color Color
	var value P
	for x := range dst {
		v := Color(upper[x])
		if lower[x] != upper[x] {
			v = mix(v, Color(lower[x]), levels/2)
		}
		if x == 0 || v != color { // most neighbours have the same
			color, value = v, c.inks.of(v)
		}
		dst[x] = value
	}
}

// resize begins a picture in the picture for a row of double size, which has so
// many cells: it is half as wide inside as outside, and cut. The function that
// it returns ends it.
func (s *svg) resize(y, cells int) (end func()) {
	size := s.g.size(y)
	if size == vt.SingleSize {
		return func() {}
	}
	x, top, w, h := s.left(0), s.top(y), cells*s.r.cellW, s.r.cellH
	from, height := 0.0, float64(h)
	switch size {
	case vt.DoubleTop:
		height /= 2
	case vt.DoubleBottom:
		from, height = float64(h)/2, height/2
	}
	fmt.Fprintf(&s.out, `<svg x="%d" y="%d" width="%d" height="%d" viewBox="0 %s %d %s" preserveAspectRatio="none">`+"\n",
		x, top, 2*w, h, number(from), w, number(height))
	s.alone = true
	return func() {
		s.alone = false
		s.out.WriteString("</svg>\n")
	}
}
