package render

import "math"

// frame is the colours and measures of a window's frame.
type frame struct {
	bar, edge, title Color
	dots             [3]Color
	radius           float64
	dotRadius        float64
	dotX, dotStep    float64
}

func (r *Renderer) frameOf(g *Grid) frame {
	f := frame{
		dots:   [3]Color{rgb(0xff5f57), rgb(0xfebc2e), rgb(0x28c840)},
		radius: 10 * r.o.Scale, dotRadius: 6 * r.o.Scale, dotX: 20 * r.o.Scale, dotStep: 20 * r.o.Scale,
	}
	ink := readable(g.Foreground, g.Margin, 4.5)
	f.bar = mix(ink, g.Margin, 2)
	f.edge = mix(ink, g.Margin, 4)
	f.title = mix(ink, f.bar, 10)
	return f
}

// paintFrame draws the title bar, and rounds the picture's corners.
func paintFrame[P pixel](r *Renderer, c *canvas[P], g *Grid) {
	f := r.frameOf(g)
	c.rect(0, 0, c.w, r.bar, f.bar)
	dot := disc(f.dotRadius)
	for i, color := range f.dots {
		x := int(math.Round(f.dotX + float64(i)*f.dotStep - f.dotRadius))
		c.mask(dot, x, int(float64(r.bar)/2-f.dotRadius+0.5), color, f.bar)
	}
	cells := r.titleCells(g, c.w, f)
	left := (c.w - len(cells)*r.cellW) / 2
	for i := range cells {
		paintCell(r, c, &cells[i], left+i*r.cellW, (r.bar-r.cellH)/2)
	}
	light := r.thick
	c.rect(0, 0, c.w, light, f.edge)
	c.rect(0, c.h-light, c.w, c.h, f.edge)
	c.rect(0, 0, light, c.h, f.edge)
	c.rect(c.w-light, 0, c.w, c.h, f.edge)
	paintCorners(r, c, g, f)
}

// titleCells is the title, cut to what fits between the dots and the edge.
func (r *Renderer) titleCells(g *Grid, w int, f frame) []Cell {
	room := w/r.cellW - 2*int(math.Ceil((f.dotX+3*f.dotStep)/float64(r.cellW)))
	var cells []Cell
	for _, ch := range g.Title {
		if len(cells) == max(room, 0) {
			if len(cells) > 0 {
				cells[len(cells)-1].Rune = '…'
			}
			break
		}
		cells = append(cells, Cell{Rune: ch, Width: 1, FG: f.title, BG: f.bar})
	}
	return cells
}

func disc(radius float64) *mask {
	size := int(math.Ceil(2 * radius))
	s := &shape{}
	s.moveTo(radius, 0)
	s.bulge(radius, radius, 0, 2*radius)
	s.bulge(radius, -radius, 2*radius, 0)
	s.close()
	return s.mask(size, size)
}

// paintCorners makes what lies outside the rounded corners see-through, and
// draws the edge along them.
func paintCorners[P pixel](r *Renderer, c *canvas[P], g *Grid, f frame) {
	n := int(math.Ceil(f.radius))
	for y := range n {
		for x := range n {
			// The distance of the pixel's middle from the corner circle's.
			d := math.Hypot(f.radius-float64(x)-0.5, f.radius-float64(y)-0.5)
			outside := level(d - f.radius + 0.5)
			edge := level(d - f.radius + 0.5 + float64(r.thick))
			for _, p := range [4][2]int{{x, y}, {c.w - 1 - x, y}, {x, c.h - 1 - y}, {c.w - 1 - x, c.h - 1 - y}} {
				inside := f.bar
				if p[1] >= r.bar {
					inside = g.Margin
				}
				if edge > 0 || d > f.radius {
					c.row(p[1], p[0], p[0]+1)[0] = c.inks.of(mix(mix(f.edge, inside, edge), 0, full-outside))
				}
			}
		}
	}
}

// level turns a distance in pixels into a coverage.
func level(d float64) int { return int(math.Round(math.Min(math.Max(d, 0), 1) * full)) }
