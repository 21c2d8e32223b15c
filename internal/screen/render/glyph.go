package render

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-text/typesetting/harfbuzz"
	"golang.org/x/image/draw"
	"golang.org/x/image/vector"
)

// glyphs draws characters into boxes of one size, each once.
type glyphs struct {
	cellW, cellH int
	px           float64 // the letters' size
	baseline     float64
	fonts        chain

	simple   map[uint64]*mask // characters of one rune
	clusters map[clusterKey]*mask
	missing  map[string][]rune // of each character, what no font has
}

type clusterKey struct {
	text  string
	width uint8
	weight
}

// maxCached bounds the glyphs kept. At the bound all are forgotten: a screen
// uses a few hundred.
const maxCached = 8192

func (g *glyphs) of(c *Cell) *mask {
	w := c.weight()
	if c.Cluster != "" {
		key := clusterKey{c.Cluster, c.Width, w}
		m, ok := g.clusters[key]
		if !ok {
			if len(g.clusters) >= maxCached {
				clear(g.clusters)
			}
			m = g.draw([]rune(c.Cluster), int(c.Width), w)
			g.clusters[key] = m
		}
		return m
	}
	key := uint64(c.Rune)<<8 | uint64(c.Width)<<4 | uint64(w)
	m, ok := g.simple[key]
	if !ok {
		if len(g.simple) >= maxCached {
			clear(g.simple)
		}
		m = g.draw([]rune{c.Rune}, int(c.Width), w)
		g.simple[key] = m
	}
	return m
}

// weight is that of the cell's letters.
func (c *Cell) weight() (w weight) {
	if c.Bold {
		w |= bold
	}
	if c.Italic {
		w |= italic
	}
	return w
}

func (g *glyphs) draw(text []rune, width int, w weight) *mask {
	boxW := g.cellW * max(width, 1)
	if len(text) == 1 {
		if s := shapeOf(text[0], boxW, g.cellH, g.px); s != nil {
			return s.mask(boxW, g.cellH)
		}
	}
	if wantsEmoji(text, width) {
		if m := g.drawEmoji(text, boxW); m != nil {
			return m
		}
	}
	placed, missing := g.lay(text, width, w)
	if len(missing) > 0 {
		g.missing[string(text)] = missing
	}
	if placed == nil && len(missing) > 0 {
		return tofuShape(missing[0], boxW, g.cellH, g.px).mask(boxW, g.cellH)
	}
	z := vector.NewRasterizer(boxW, g.cellH)
	for _, p := range placed {
		p.traceTo(z)
	}
	m := &mask{w: boxW, h: g.cellH, level: make([]uint8, boxW*g.cellH)}
	m.drawn(z)
	return m.trim()
}

// invisible characters leave their cells empty in every terminal.
func invisible(r rune) bool {
	return r <= 0x20 || r == 0xa0 || r == 0xad || r >= 0x2000 && r <= 0x200f || r >= 0x2028 && r <= 0x202f || r >= 0x205f && r <= 0x206f ||
		r == 0x3000 || selector(r) || r == 0xfeff || r == utf8.RuneError
}

// selector reports that a rune only says how the one before it is meant.
func selector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r == 0x200d || r >= 0xe0000 && r <= 0xe01ef
}

// hexDigits are the figures of a box that stands for a character that no font
// has: three columns and five rows each, row by row from the highest bit.
var hexDigits = [16]uint16{
	0b111_101_101_101_111, 0b010_110_010_010_111, 0b111_001_111_100_111, 0b111_001_111_001_111,
	0b101_101_111_001_001, 0b111_100_111_001_111, 0b111_100_111_101_111, 0b111_001_010_010_010,
	0b111_101_111_101_111, 0b111_101_111_001_111, 0b111_101_111_101_101, 0b110_101_110_101_110,
	0b111_100_100_100_111, 0b110_101_101_101_110, 0b111_100_111_100_111, 0b111_100_111_100_100,
}

// tofuShape returns the box that stands for a character that no font has, with
// the character's number on it: nobody takes it for a character. Where there is
// no room for figures the box is crossed out.
func tofuShape(r rune, w, h int, px float64) *shape {
	s := &shape{}
	dot := min(w/9, h/20)
	if dot < 1 {
		crossedBox(s, w, h, px)
		return s
	}
	const ground = full / 4
	code := strconv.FormatInt(int64(r), 16)
	perRow := 2
	if w >= 2*h*9/20 { // a wide character
		perRow = 3
	}
	for len(code) < 4 || len(code)%perRow != 0 {
		code = "0" + code
	}
	rows := len(code) / perRow
	left := (w - (4*perRow-1)*dot) / 2
	top := (h - (6*rows-1)*dot) / 2
	s.shade(0, top-dot, w, top+6*rows*dot, ground)
	for i := range len(code) {
		v, _ := strconv.ParseUint(code[i:i+1], 16, 8) // it was printed above
		digit(s, int(v), left+i%perRow*4*dot, top+i/perRow*6*dot, dot)
	}
	return s
}

func digit(s *shape, v, x, y, dot int) {
	for row := range 5 {
		for col := range 3 {
			if hexDigits[v]>>(14-3*row-col)&1 == 1 {
				s.fill(x+col*dot, y+row*dot, x+(col+1)*dot, y+(row+1)*dot)
			}
		}
	}
}

func crossedBox(s *shape, w, h int, px float64) {
	light, _ := lineWidths(px)
	s.outline(0, light, w, h-light, light)
	x, y := newStrokes(w, px), newStrokes(h, px)
	diagonal(s, x, y, true)
	diagonal(s, x, y, false)
}

// outline draws the four sides of a box.
func (s *shape) outline(x0, y0, x1, y1, thick int) {
	s.fill(x0, y0, x1, y0+thick)
	s.fill(x0, y1-thick, x1, y1)
	s.fill(x0, y0+thick, x0+thick, y1-thick)
	s.fill(x1-thick, y0+thick, x1, y1-thick)
}

// wantsEmoji reports that a character is meant as a small picture: its writer
// said so, or it is wide and of no script.
func wantsEmoji(text []rune, width int) bool {
	for _, r := range text[1:] {
		switch r {
		case 0xfe0f, 0x20e3:
			return true
		case 0xfe0e:
			return false
		}
	}
	return width == 2 && !wideScript(text[0]) && text[0] >= 0x203c
}

// drawEmoji draws with the machine's colour font, or returns nil.
func (g *glyphs) drawEmoji(text []rune, boxW int) *mask {
	f := g.fonts.emojiFace()
	if f == nil || text[0] < 0x20 {
		return nil
	}
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(text, 0, len(text))
	buf.GuessSegmentProperties()
	buf.Shape(harfbuzz.NewFont(f.Face), nil)
	for _, info := range buf.Info {
		if info.Glyph == 0 {
			continue
		}
		bitmap, ok := f.GlyphDataBitmap(info.Glyph)
		if !ok {
			continue
		}
		src, err := png.Decode(bytes.NewReader(bitmap.Data))
		if err != nil {
			return nil // a font of another form: the box says that it is missing
		}
		return &mask{w: boxW, h: g.cellH, color: fitted(src, boxW, g.cellH)}
	}
	return nil
}

// fitted scales a picture into the middle of a box.
func fitted(src image.Image, w, h int) *image.RGBA {
	b := src.Bounds()
	scale := math.Min(float64(w)/float64(b.Dx()), float64(h)/float64(b.Dy()))
	dw, dh := int(float64(b.Dx())*scale), int(float64(b.Dy())*scale)
	at := image.Rect((w-dw)/2, (h-dh)/2, (w-dw)/2+dw, (h-dh)/2+dh)
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(dst, at, src, b, draw.Src, nil)
	return dst
}
