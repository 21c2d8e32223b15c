package render

// pixel is an index into a palette, or a colour itself.
type pixel interface{ uint8 | uint32 }

// canvas is the pixels of a picture. Every row begins with head values that
// are not pixels: PNG needs a byte before each row, so rows need not be
// copied.
type canvas[P pixel] struct {
	w, h int
	head int
	pix  []P
	// coarse asks for fewer colours: half the levels, and pictures of few
	// bits. A recording has one palette for all its screens.
	coarse bool
	inks   inks[P]
	blend  map[[2]Color]*[levels]P
	last   struct { // most neighbours have the same colours
		pair  [2]Color
		ramp  *[levels]P
		valid bool
	}
}

// inks gives colours their pixel values.
type inks[P pixel] interface {
	of(Color) P
}

// palette hands out indices in the order in which colours come.
type palette struct {
	index    map[Color]uint8
	colors   []Color
	overflow bool // more colours than a palette has
}

func newPalette() *palette { return &palette{index: map[Color]uint8{}} }

func (p *palette) of(c Color) uint8 {
	if i, ok := p.index[c]; ok {
		return i
	}
	if len(p.colors) == 256 {
		p.overflow = true
		return 0
	}
	i := uint8(len(p.colors))
	p.index[c] = i
	p.colors = append(p.colors, c)
	return i
}

// trueColors are their own values.
type trueColors struct{}

func (trueColors) of(c Color) uint32 { return uint32(c) }

func newCanvas[P pixel](w, h, head int, in inks[P]) *canvas[P] {
	return &canvas[P]{w: w, h: h, head: head, pix: make([]P, (head+w)*h), inks: in, blend: map[[2]Color]*[levels]P{}}
}

// row returns the pixels of row y from x0 up to x1.
func (c *canvas[P]) row(y, x0, x1 int) []P {
	start := y*(c.head+c.w) + c.head
	return c.pix[start+x0 : start+x1]
}

// ramp returns the values of fg over bg at every level.
func (c *canvas[P]) ramp(fg, bg Color) *[levels]P {
	pair := [2]Color{fg, bg}
	if c.last.valid && c.last.pair == pair {
		return c.last.ramp
	}
	r, ok := c.blend[pair]
	if !ok {
		r = new([levels]P)
		for i := range r {
			level := i
			if c.coarse {
				level = coarseLevels[i]
			}
			r[i] = c.inks.of(mix(fg, bg, level))
		}
		c.blend[pair] = r
	}
	c.last.pair, c.last.ramp, c.last.valid = pair, r, true
	return r
}

// coarseLevels is every other level, with both ends.
var coarseLevels = [levels]int{0, 2, 2, 4, 4, 6, 6, 8, 8, 9, 9, 11, 11, 13, 15, 15}

// forgetInks drops what was blended.
func (c *canvas[P]) forgetInks() {
	clear(c.blend)
	c.last.valid = false
}

// rect fills a rectangle, cut to the canvas.
func (c *canvas[P]) rect(x0, y0, x1, y1 int, color Color) {
	x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, c.w), min(y1, c.h)
	if x0 >= x1 || y0 >= y1 {
		return
	}
	v := c.inks.of(color)
	first := c.row(y0, x0, x1)
	for i := range first {
		first[i] = v
	}
	for y := y0 + 1; y < y1; y++ {
		copy(c.row(y, x0, x1), first)
	}
}

// mask draws a mask whose box is at (x,y), over a background of one colour.
func (c *canvas[P]) mask(m *mask, x, y int, fg, bg Color) {
	if m.color != nil {
		c.picture(m, x, y, bg)
		return
	}
	if m.w == 0 {
		return
	}
	ramp := c.ramp(fg, bg)
	x, y = x+m.x, y+m.y
	w, h := min(m.w, c.w-x), min(m.h, c.h-y)
	if w <= 0 || h <= 0 || x < 0 || y < 0 {
		return
	}
	for row := range h {
		src := m.level[row*m.w : row*m.w+w]
		dst := c.row(y+row, x, x+w)
		for i, v := range src {
			dst[i] = ramp[v&full]
		}
	}
}

// over is mask that leaves what is not covered as it is: for lines on letters.
func (c *canvas[P]) over(m *mask, x, y int, fg, bg Color) {
	ramp := c.ramp(fg, bg)
	for row := range m.h {
		for col := range m.w {
			v := m.level[row*m.w+col]
			px, py := x+m.x+col, y+m.y+row
			if v > 0 && px >= 0 && py >= 0 && px < c.w && py < c.h {
				c.row(py, px, px+1)[0] = ramp[v&full]
			}
		}
	}
}

func (c *canvas[P]) picture(m *mask, x, y int, bg Color) {
	br, bgr, bb, _ := bg.RGBA()
	for row := range min(m.h, c.h-y) {
		for col := range min(m.w, c.w-x) {
			s := m.color.Pix[row*m.color.Stride+4*col:]
			a := int(s[3])
			if a == 0 {
				continue
			}
			over := func(s, d uint8) Color { return Color(min(255, int(s)+int(d)*(255-a)/255)) }
			v := 0xff<<24 | over(s[0], br)<<16 | over(s[1], bgr)<<8 | over(s[2], bb)
			if c.coarse {
				v = coarser(v, 4)
			}
			c.row(y+row, x+col, x+col+1)[0] = c.inks.of(v)
		}
	}
}
