package render

import (
	"math"
	"unicode"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/harfbuzz"
)

// pen is the position and style in which an outline is drawn.
type pen struct {
	x, y    float64
	scale   float64 // pixels in a unit of the font
	squeeze float64 // of heights, on top of scale: 1 is none
	slant   float64
	heavier float64 // a second stroke so far to the right; 0 = none
}

// placed is a glyph at its place in the box of a character.
type placed struct {
	f     *face
	glyph font.GID
	pen
}

// lay chooses fonts for a character's runes and places their glyphs. It returns
// nil glyphs if nothing can be drawn, and the runes that no font has.
func (g *glyphs) lay(text []rune, width int, w weight) (all []placed, missing []rune) {
	visible := g.visible(text, width)
	if len(visible) == 0 {
		return []placed{}, nil
	}
	if f := g.fontFor(visible, text, width, w); f != nil {
		all, missing = g.shape(f, visible, width, w)
		return g.squeezed(all), missing
	}
	base := g.fontFor(visible[:1], text, width, w)
	if base == nil {
		return nil, visible
	}
	all, missing = g.shape(base, visible[:1], width, w)
	for _, mark := range visible[1:] {
		if f := g.fonts.find(mark, w); f != nil {
			all = append(all, g.stack(all, f, mark, w))
		} else {
			missing = append(missing, mark)
		}
	}
	return g.squeezed(all), missing
}

// visible returns the runes that are to be drawn. In black and white a skin
// tone says nothing.
func (g *glyphs) visible(text []rune, width int) []rune {
	out := make([]rune, 0, len(text))
	for i, r := range text {
		tone := i > 0 && r >= 0x1f3fb && r <= 0x1f3ff
		carries := r == ' ' && i == 0 && len(text) > 1 // a mark of its own
		joins := r == 0x200d && wantsEmoji(text, width)
		if !tone && (!invisible(r) || carries || joins) {
			out = append(out, r)
		}
	}
	return out
}

// fontFor returns a font that has all the runes, or nil. An emoji comes from
// the font of emoji, if it has it.
func (g *glyphs) fontFor(runes, text []rune, width int, w weight) *face {
	if wantsEmoji(text, width) {
		f := g.fonts.fallback(plainEmoji)
		if _, ok := f.NominalGlyph(runes[0]); ok {
			return f
		}
	}
	return g.fonts.findAll(runes, w)
}

// shape lets a font place its glyphs, and returns the runes that it lacks.
func (g *glyphs) shape(f *face, text []rune, width int, w weight) (all []placed, missing []rune) {
	glyph, ok := f.NominalGlyph(text[0])
	if !ok {
		return nil, text
	}
	at := g.fit(f, glyph, text[0], width, w)
	if len(text) == 1 {
		return []placed{{f, glyph, at}}, nil
	}
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(text, 0, len(text))
	buf.GuessSegmentProperties()
	buf.Props.Direction = harfbuzz.LeftToRight // one character: its marks follow it
	buf.Shape(harfbuzz.NewFont(f.Face), nil)
	for i, info := range buf.Info {
		pos := buf.Pos[i]
		p := at
		p.x += float64(pos.XOffset) * at.scale
		p.y -= float64(pos.YOffset) * at.scale
		if info.Glyph != 0 {
			all = append(all, placed{f, info.Glyph, p})
		} else {
			missing = append(missing, text[info.Cluster])
		}
		at.x += float64(pos.XAdvance) * at.scale
	}
	if f == g.fonts.more[plainEmoji] && len(all) > 1 {
		return all[:1], missing // pictures that the font cannot join: there is room for the first
	}
	g.gather(all, float64(g.cellW*max(width, 1)))
	return all, missing
}

// gather puts marks that a font places beside the letter, because it does not
// know them as marks, over its middle.
func (g *glyphs) gather(all []placed, boxW float64) {
	for i := 1; i < len(all); i++ {
		base, ink := all[0].ink(), all[i].ink()
		if middle := (ink.x0 + ink.x1) / 2; middle >= boxW {
			all[i].x += (base.x0+base.x1)/2 - middle
		}
	}
}

// stack places a mark of another font over, under or on what is there already.
func (g *glyphs) stack(all []placed, f *face, mark rune, w weight) placed {
	glyph, _ := f.NominalGlyph(mark)
	p := placed{f, glyph, g.fit(f, glyph, mark, 1, w)}
	box, ink := inkOf(all), p.ink()
	p.x += (box.x0+box.x1)/2 - (ink.x0+ink.x1)/2
	gap := g.px / 15
	switch {
	case ink.y1 < g.baseline-g.px*0.45: // above the small letters
		p.y += math.Min(0, box.y0-gap-ink.y1)
	case ink.y0 > g.baseline-g.px*0.05:
		p.y += math.Max(0, box.y1+gap-ink.y0)
	}
	return p
}

// squeezed makes a character with many marks so low that all are in its box.
func (g *glyphs) squeezed(all []placed) []placed {
	if len(all) < 2 {
		return all
	}
	box := inkOf(all)
	by := 1.0
	if box.y0 < 0 {
		by = math.Min(by, g.baseline/(g.baseline-box.y0))
	}
	if h := float64(g.cellH); box.y1 > h {
		by = math.Min(by, (h-g.baseline)/(box.y1-g.baseline))
	}
	by = math.Max(by, 0.3)
	for i := range all {
		all[i].squeeze *= by
		all[i].y = g.baseline + (all[i].y-g.baseline)*by
	}
	return all
}

// fit places a glyph in its box. Letters of the main font stand as designed;
// others are made to fit the cells and stand in their middle.
func (g *glyphs) fit(f *face, glyph font.GID, r rune, width int, w weight) pen {
	p := pen{y: g.baseline, scale: g.px / float64(f.Upem()), squeeze: 1}
	if w&italic != 0 && !f.own && !pictorial(r) {
		p.slant = 0.2
	}
	if w&bold != 0 && !f.own && !pictorial(r) {
		p.heavier = g.px / 20
	}
	boxW := float64(g.cellW * max(width, 1))
	advance := float64(f.HorizontalAdvance(glyph)) * p.scale
	switch {
	case f.own:
		// Rounding only: cells are whole pixels.
	case pictorial(r):
		g.fitPicture(&p, f, glyph, r, boxW)
		return p
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

// pictorial reports that a rune is a sign or an icon, not a letter: its ink
// counts, not the room that its font gives it.
func pictorial(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sm, unicode.Co, unicode.Sk) && !wideScript(r)
}

// axis is the height of the middle of signs above the baseline, in letter
// sizes: that of a minus.
const axis = 0.36

// fitPicture makes a sign's ink fit the box. What must shrink shrinks towards
// the axis, so that it stays beside the letters' middle; icons of private use
// have no baseline and stand in the middle of the box.
func (g *glyphs) fitPicture(p *pen, f *face, glyph font.GID, r rune, boxW float64) {
	ink := (&placed{f, glyph, *p}).ink()
	inkW, inkH := ink.x1-ink.x0, ink.y1-ink.y0
	if inkW <= 0 || inkH <= 0 {
		return
	}
	by := math.Min(1, math.Min(boxW/inkW, float64(g.cellH)*0.95/inkH))
	middle := p.y - axis*g.px
	if unicode.Is(unicode.Co, r) || ofPictures(r) {
		by = math.Min(boxW/inkW, g.px*1.05/inkH)
		by = math.Min(by, 1.6)
		p.y = float64(g.cellH)/2 + (p.y-(ink.y0+ink.y1)/2)*by
	} else {
		p.y = middle + (p.y-middle)*by
	}
	p.x = boxW/2 - by*(ink.x0+ink.x1)/2
	p.scale *= by
}

// ofPictures reports that a rune is in a block of pictures.
func ofPictures(r rune) bool {
	return r >= 0x1f300 && r <= 0x1f64f || r >= 0x1f680 && r <= 0x1f6ff || r >= 0x1f900 && r <= 0x1faff
}

// box is where ink is, in pixels.
type box struct{ x0, y0, x1, y1 float64 }

// ink returns where a placed glyph has ink.
func (p *placed) ink() box {
	e, ok := p.f.GlyphExtents(p.glyph)
	if !ok {
		return box{p.x, p.y, p.x, p.y}
	}
	top, bottom := float64(e.YBearing), float64(e.YBearing+e.Height)
	return box{
		x0: p.x + float64(e.XBearing)*p.scale, x1: p.x + float64(e.XBearing+e.Width)*p.scale,
		y0: p.y - top*p.scale*p.squeeze, y1: p.y - bottom*p.scale*p.squeeze,
	}
}

// inkOf returns where several glyphs have ink.
func inkOf(all []placed) box {
	if len(all) == 0 {
		return box{}
	}
	b := all[0].ink()
	for i := range all[1:] {
		c := all[1+i].ink()
		b = box{math.Min(b.x0, c.x0), math.Min(b.y0, c.y0), math.Max(b.x1, c.x1), math.Max(b.y1, c.y1)}
	}
	return b
}
