package render

import (
	"math"
	"unicode/utf8"

	"github.com/go-text/typesetting/font"
	ot "github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/harfbuzz"
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
	missing  map[string]bool // characters that no font has
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
	var w weight
	if c.Bold {
		w |= bold
	}
	if c.Italic {
		w |= italic
	}
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
	if m := g.drawText(text, width, w); m != nil {
		return m
	}
	if m := g.drawEmoji(text, boxW); m != nil {
		return m
	}
	if invisible(text[0]) {
		return &mask{}
	}
	g.missing[string(text)] = true
	return missingShape(boxW, g.cellH, g.px).mask(boxW, g.cellH)
}

// invisible characters leave their cells empty in every terminal.
func invisible(r rune) bool {
	return r == 0xa0 || r >= 0x2000 && r <= 0x200f || r == 0x3000 || r == utf8.RuneError
}

// drawText draws with the fonts of letters, or returns nil.
func (g *glyphs) drawText(text []rune, width int, w weight) *mask {
	f, glyph := g.fonts.find(text[0], w)
	if f == nil {
		return nil
	}
	boxW := g.cellW * max(width, 1)
	z := vector.NewRasterizer(boxW, g.cellH)
	pen := g.fit(f, glyph, width, w)
	if marks := withoutSelectors(text); len(marks) > 1 {
		g.trace(z, f, marks, pen)
	} else {
		outlineTo(z, f, glyph, pen)
	}
	m := &mask{w: boxW, h: g.cellH, level: make([]uint8, boxW*g.cellH)}
	m.drawn(z)
	return m.trim()
}

// pen is the position and style in which outlines are drawn.
type pen struct {
	x, y, scale float64
	slant       float64
	heavier     float64 // a second stroke so far to the right; 0 = none
}

// fit places a glyph in its box. Letters of the main font stand as designed;
// others are made to fit the cells and stand in their middle.
func (g *glyphs) fit(f *face, glyph font.GID, width int, w weight) pen {
	p := pen{y: g.baseline, scale: g.px / float64(f.Upem())}
	if w&italic != 0 && !f.own {
		p.slant = 0.2
	}
	if w&bold != 0 && !f.own {
		p.heavier = g.px / 20
	}
	boxW := float64(g.cellW * max(width, 1))
	advance := float64(f.HorizontalAdvance(glyph)) * p.scale
	if f.own {
		p.x = (boxW - advance) / 2 // rounding only: cells are whole pixels
		return p
	}
	switch {
	case width == 2 && advance < boxW: // as large as the letters beside it look
		grow := math.Min(boxW/advance, 1.1)
		p.scale, advance = p.scale*grow, advance*grow
		p.y += g.px * 0.02
	case advance > boxW:
		p.scale, advance = p.scale*boxW/advance, boxW
	}
	p.x = (boxW - advance) / 2
	return p
}

// trace draws a character of several runes: the font places its marks.
func (g *glyphs) trace(z *vector.Rasterizer, f *face, text []rune, at pen) {
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(text, 0, len(text))
	buf.GuessSegmentProperties()
	buf.Shape(harfbuzz.NewFont(f.Face), nil)
	for i, info := range buf.Info {
		pos := buf.Pos[i]
		p := at
		p.x += float64(pos.XOffset) * at.scale
		p.y -= float64(pos.YOffset) * at.scale
		if info.Glyph != 0 { // the font has no such mark: the letter is what matters
			outlineTo(z, f, info.Glyph, p)
		}
		at.x += float64(pos.XAdvance) * at.scale
	}
}

func withoutSelectors(text []rune) []rune {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if r != 0xfe0e && r != 0xfe0f && r != 0x200d {
			out = append(out, r)
		}
	}
	return out
}

// outlineTo adds a glyph's outline to the rasteriser.
func outlineTo(z *vector.Rasterizer, f *face, glyph font.GID, p pen) {
	outline, ok := f.GlyphDataOutline(glyph)
	if !ok {
		return
	}
	strokeTo(z, outline, p)
	if p.heavier > 0 {
		p.x += p.heavier
		strokeTo(z, outline, p)
	}
}

func strokeTo(z *vector.Rasterizer, outline font.GlyphOutline, p pen) {
	at := func(sp ot.SegmentPoint) (float32, float32) {
		x, y := float64(sp.X)*p.scale, float64(sp.Y)*p.scale
		return float32(p.x + x + y*p.slant), float32(p.y - y)
	}
	open := false
	for _, s := range outline.Segments {
		ax, ay := at(s.Args[0])
		bx, by := at(s.Args[1])
		cx, cy := at(s.Args[2])
		switch s.Op {
		case ot.SegmentOpMoveTo:
			if open {
				z.ClosePath()
			}
			open = true
			z.MoveTo(ax, ay)
		case ot.SegmentOpLineTo:
			z.LineTo(ax, ay)
		case ot.SegmentOpQuadTo:
			z.QuadTo(ax, ay, bx, by)
		case ot.SegmentOpCubeTo:
			z.CubeTo(ax, ay, bx, by, cx, cy)
		}
	}
	if open {
		z.ClosePath()
	}
}
