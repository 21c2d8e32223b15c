package render

import (
	"image"

	"golang.org/x/image/vector"
)

// shape is a symbol made of geometry, in the pixels of its box: whole pixels
// where lines must join, curves and slopes elsewhere.
type shape struct {
	rects []rect
	path  []segment
}

// rect is filled from (x0,y0) up to but without (x1,y1).
type rect struct {
	x0, y0, x1, y1 int
	level          int
}

// segment is a step of a path, as the rasteriser and SVG have them.
type segment struct {
	op byte // 'M', 'L', 'Q', 'C' or 'Z'; 'Q' in outlines of glyphs only
	p  [3][2]float64
}

func (s *shape) fill(x0, y0, x1, y1 int) { s.shade(x0, y0, x1, y1, full) }

func (s *shape) shade(x0, y0, x1, y1, level int) {
	if x0 < x1 && y0 < y1 {
		s.rects = append(s.rects, rect{x0, y0, x1, y1, level})
	}
}

func (s *shape) moveTo(x, y float64) { s.add('M', [2]float64{x, y}) }
func (s *shape) lineTo(x, y float64) { s.add('L', [2]float64{x, y}) }
func (s *shape) close()              { s.add('Z') }

func (s *shape) curveTo(x1, y1, x2, y2, x, y float64) {
	s.add('C', [2]float64{x1, y1}, [2]float64{x2, y2}, [2]float64{x, y})
}

func (s *shape) add(op byte, p ...[2]float64) {
	seg := segment{op: op}
	copy(seg.p[:], p)
	s.path = append(s.path, seg)
}

// polygon fills what the points enclose.
func (s *shape) polygon(points ...[2]float64) {
	for i, p := range points {
		if i == 0 {
			s.moveTo(p[0], p[1])
		} else {
			s.lineTo(p[0], p[1])
		}
	}
	s.close()
}

// mask draws the shape into a box of that size.
func (s *shape) mask(w, h int) *mask {
	m := &mask{w: w, h: h, level: make([]uint8, w*h)}
	if len(s.path) > 0 {
		z := vector.NewRasterizer(w, h)
		for _, seg := range s.path {
			tracePath(z, seg)
		}
		m.drawn(z)
	}
	for _, r := range s.rects {
		for y := max(r.y0, 0); y < min(r.y1, h); y++ {
			for x := max(r.x0, 0); x < min(r.x1, w); x++ {
				m.level[y*w+x] = max(m.level[y*w+x], uint8(r.level))
			}
		}
	}
	return m.trim()
}

func tracePath(z *vector.Rasterizer, seg segment) {
	f := func(i int) (float32, float32) { return float32(seg.p[i][0]), float32(seg.p[i][1]) }
	switch seg.op {
	case 'M':
		z.MoveTo(f(0))
	case 'L':
		z.LineTo(f(0))
	case 'C':
		ax, ay := f(0)
		bx, by := f(1)
		cx, cy := f(2)
		z.CubeTo(ax, ay, bx, by, cx, cy)
	case 'Z':
		z.ClosePath()
	}
}

// mask is the coverage of each pixel of a box by a character, in levels. The
// part that is covered at all is at (x,y) in the box.
type mask struct {
	x, y, w, h int
	level      []uint8
	color      *image.RGBA // a picture instead, of the whole box; or nil
}

// drawn copies the rasteriser's result, in levels. m must cover its box.
func (m *mask) drawn(z *vector.Rasterizer) {
	a := image.NewAlpha(image.Rect(0, 0, m.w, m.h))
	z.Draw(a, a.Rect, image.Opaque, image.Point{})
	for i, v := range a.Pix {
		m.level[i] = max(m.level[i], uint8((int(v)*full+127)/255))
	}
}

// trim cuts off the rows and columns that are not covered.
func (m *mask) trim() *mask {
	x0, y0, x1, y1 := m.w, m.h, 0, 0
	for y := range m.h {
		for x, v := range m.level[y*m.w : (y+1)*m.w] {
			if v > 0 {
				x0, x1 = min(x0, x), max(x1, x+1)
				y0, y1 = min(y0, y), y+1
			}
		}
	}
	if x0 >= x1 {
		return &mask{}
	}
	t := &mask{x: m.x + x0, y: m.y + y0, w: x1 - x0, h: y1 - y0}
	t.level = make([]uint8, 0, t.w*t.h)
	for y := y0; y < y1; y++ {
		t.level = append(t.level, m.level[y*m.w+x0:y*m.w+x1]...)
	}
	return t
}
