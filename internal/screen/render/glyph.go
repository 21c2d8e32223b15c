package render

import (
	"unicode/utf8"

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
