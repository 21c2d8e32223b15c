package render

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf16"

	ot "github.com/go-text/typesetting/font/opentype"
)

// emUnits is the size of letters in units of the fonts that go into SVGs.
const emUnits = 2048

// svgFont is a font of the characters of one picture, in one weight. Its
// glyphs come from all fonts, each at its place in its cells: viewers show what
// PNGs show, whatever fonts they have.
type svgFont struct {
	glyphs map[rune]*svgGlyph
}

type svgGlyph struct {
	advance  int
	contours [][]fontPoint
}

// fontPoint is a point of an outline, in units of the font.
type fontPoint struct {
	x, y int
	on   bool // of the outline; else it bends it
}

// svgFonts are those of one picture by weight; nil: none is needed.
type svgFonts [4]*svgFont

// add puts a character into the font, and reports whether it is in there as
// this cell shows it.
func (fs *svgFonts) add(g *glyphs, r rune, width int, w weight) bool {
	f := fs[w]
	if f == nil {
		f = &svgFont{glyphs: map[rune]*svgGlyph{}}
		fs[w] = f
	}
	advance := int(math.Round(float64(g.cellW*max(1, width)) * emUnits / g.px))
	if old := f.glyphs[r]; old != nil {
		return old.advance == advance
	}
	placed, missing := g.lay([]rune{r}, width, w)
	if len(missing) > 0 {
		return false
	}
	glyph := &svgGlyph{advance: advance}
	for i := range placed {
		glyph.trace(&placed[i], g.px, g.baseline)
	}
	f.glyphs[r] = glyph
	return true
}

// trace adds an outline.
func (s *svgGlyph) trace(p *placed, px, baseline float64) {
	unit := emUnits / px
	point := func(x, y float64, on bool) fontPoint {
		return fontPoint{int(math.Round(x * unit)), int(math.Round((baseline - y) * unit)), on}
	}
	var at [2]float64
	add := func(pts ...fontPoint) {
		last := len(s.contours) - 1
		s.contours[last] = append(s.contours[last], pts...)
	}
	p.segments(func(op ot.SegmentOp, pts [3][2]float64) {
		switch op {
		case ot.SegmentOpMoveTo:
			s.contours = append(s.contours, nil)
			add(point(pts[0][0], pts[0][1], true))
			at = pts[0]
		case ot.SegmentOpLineTo:
			add(point(pts[0][0], pts[0][1], true))
			at = pts[0]
		case ot.SegmentOpQuadTo:
			add(point(pts[0][0], pts[0][1], false), point(pts[1][0], pts[1][1], true))
			at = pts[1]
		case ot.SegmentOpCubeTo:
			for _, q := range quadratics(at, pts[0], pts[1], pts[2]) {
				add(point(q[0][0], q[0][1], false), point(q[1][0], q[1][1], true))
			}
			at = pts[2]
		}
	})
}

// quadratics replaces a cubic curve by four quadratic ones: TrueType has no
// others. Each is a control point and an end.
func quadratics(p0, p1, p2, p3 [2]float64) [4][2][2]float64 {
	var out [4][2][2]float64
	for i := range out {
		t0, t1 := float64(i)/4, float64(i+1)/4
		a, b := cubicAt(p0, p1, p2, p3, t0), cubicAt(p0, p1, p2, p3, t1)
		// The curve between them as a cubic has its control points at a third
		// of the slopes; the quadratic's is the mean of where both lead.
		for k := range 2 {
			slope := func(t float64) float64 {
				return 3*(1-t)*(1-t)*(p1[k]-p0[k]) + 6*(1-t)*t*(p2[k]-p1[k]) + 3*t*t*(p3[k]-p2[k])
			}
			c1, c2 := a[k]+slope(t0)/12, b[k]-slope(t1)/12
			out[i][0][k] = (3*(c1+c2) - a[k] - b[k]) / 4
			out[i][1][k] = b[k]
		}
	}
	return out
}

func cubicAt(p0, p1, p2, p3 [2]float64, t float64) (at [2]float64) {
	for k := range 2 {
		at[k] = (1-t)*(1-t)*(1-t)*p0[k] + 3*(1-t)*(1-t)*t*p1[k] + 3*(1-t)*t*t*p2[k] + t*t*t*p3[k]
	}
	return at
}

// css returns the fonts as rules of a style sheet, and the name of their family,
// which no other picture's has; "" if there are none.
func (fs *svgFonts) css(g *glyphs) (rules, family string) {
	var data [4][]byte
	sum := sha256.New()
	for w, f := range fs {
		if f != nil && len(f.glyphs) > 0 {
			data[w] = f.file(g)
			sum.Write(data[w])
		}
	}
	family = fmt.Sprintf("den-%x", sum.Sum(nil)[:6])
	var b strings.Builder
	for w, d := range data {
		if d == nil {
			continue
		}
		heavy, style := 400, "normal"
		if weight(w)&bold != 0 {
			heavy = 700
		}
		if weight(w)&italic != 0 {
			style = "italic"
		}
		fmt.Fprintf(&b, "@font-face{font-family:%s;font-weight:%d;font-style:%s;src:url(data:font/ttf;base64,%s)}",
			family, heavy, style, base64.StdEncoding.EncodeToString(d))
	}
	if b.Len() == 0 {
		return "", ""
	}
	return b.String(), family
}

// file returns the font as a TrueType file.
func (f *svgFont) file(g *glyphs) []byte {
	runes := slices.Sorted(maps.Keys(f.glyphs))
	glyphs := []*svgGlyph{{advance: int(float64(g.cellW) * emUnits / g.px)}} // the first stands for what is missing
	for _, r := range runes {
		glyphs = append(glyphs, f.glyphs[r])
	}
	ascent := int(g.baseline * emUnits / g.px)
	descent := int(float64(g.cellH)*emUnits/g.px) - ascent
	var glyf, loca, hmtx []byte
	points, contours := 0, 0
	for _, gl := range glyphs {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		glyf = gl.append(glyf)
		hmtx = be16(hmtx, gl.advance, gl.left())
		n := 0
		for _, c := range gl.contours {
			n += len(c)
		}
		points, contours = max(points, n), max(contours, len(gl.contours))
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	tables := []ot.Table{
		{Tag: ot.MustNewTag("OS/2"), Content: os2Table(ascent, descent, runes)},
		{Tag: ot.MustNewTag("cmap"), Content: cmapTable(runes)},
		{Tag: ot.MustNewTag("glyf"), Content: glyf},
		{Tag: ot.MustNewTag("head"), Content: headTable(ascent, descent)},
		{Tag: ot.MustNewTag("hhea"), Content: be16(nil, 1, 0, ascent, -descent, 0, 2*emUnits, 0, 0, 2*emUnits, 1, 0, 0, 0, 0, 0, 0, 0, len(glyphs))},
		{Tag: ot.MustNewTag("hmtx"), Content: hmtx},
		{Tag: ot.MustNewTag("loca"), Content: loca},
		{Tag: ot.MustNewTag("maxp"), Content: be16(nil, 1, 0, len(glyphs), points, contours, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)},
		{Tag: ot.MustNewTag("name"), Content: nameTable()},
		{Tag: ot.MustNewTag("post"), Content: be16(nil, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)},
	}
	for i := range tables { // browsers want them aligned
		for len(tables[i].Content)%4 != 0 {
			tables[i].Content = append(tables[i].Content, 0)
		}
	}
	return ot.WriteTTF(tables)
}

// be16 appends numbers of two bytes each.
func be16(b []byte, values ...int) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, uint16(int16(v)))
	}
	return b
}

func headTable(ascent, descent int) []byte {
	b := be16(nil, 1, 0, 1, 0, 0, 0) // versions; the checksum is not needed
	b = binary.BigEndian.AppendUint32(b, 0x5f0f3cf5)
	b = be16(b, 3, emUnits, 0, 0, 0, 0, 0, 0, 0, 0) // flags, units, no dates
	return be16(b, 0, -descent, 2*emUnits, ascent, 0, 6, 2, 1, 0)
}

func os2Table(ascent, descent int, runes []rune) []byte {
	last := min(runes[len(runes)-1], 0xffff)
	b := be16(nil, 4, emUnits/2, 400, 5, 0, emUnits/2, emUnits/2, 0, 0, emUnits/2, emUnits/2, 0, 0, 100, 600, 0)
	b = append(b, make([]byte, 10+16)...) // no panose, no list of ranges
	b = append(b, "den "...)
	b = be16(b, 0x40, int(min(runes[0], 0xffff)), int(last), ascent, -descent, 0, ascent, descent)
	b = append(b, make([]byte, 8)...)
	return be16(b, emUnits/2, emUnits*7/10, 0, ' ', 1)
}

// cmapTable maps runes in their order to the glyphs from 1 on.
func cmapTable(runes []rune) []byte {
	b := be16(nil, 0, 1, 3, 10, 0, 12)
	b = be16(b, 12, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(16+12*len(runes)))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(runes)))
	for i, r := range runes {
		for _, v := range [3]uint32{uint32(r), uint32(r), uint32(i + 1)} {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	return b
}

func nameTable() []byte {
	var name []byte
	for _, u := range utf16.Encode([]rune("den")) {
		name = binary.BigEndian.AppendUint16(name, u)
	}
	ids := []int{1, 2, 4, 6}
	b := be16(nil, 0, len(ids), 6+12*len(ids))
	for _, id := range ids {
		b = be16(b, 3, 1, 0x409, id, len(name), 0)
	}
	return append(b, name...)
}

// left is where the outline begins.
func (s *svgGlyph) left() int {
	x := 0
	for i, p := range slices.Concat(s.contours...) {
		if i == 0 || p.x < x {
			x = p.x
		}
	}
	return x
}

// append adds the outline to the table of outlines; nothing for a blank.
func (s *svgGlyph) append(b []byte) []byte {
	all := slices.Concat(s.contours...)
	if len(all) == 0 {
		return b
	}
	x0, y0, x1, y1 := all[0].x, all[0].y, all[0].x, all[0].y
	for _, p := range all {
		x0, y0, x1, y1 = min(x0, p.x), min(y0, p.y), max(x1, p.x), max(y1, p.y)
	}
	b = be16(b, len(s.contours), x0, y0, x1, y1)
	end := -1
	for _, c := range s.contours {
		end += len(c)
		b = be16(b, end)
	}
	b = be16(b, 0) // no instructions
	var flags, xs, ys []byte
	last := fontPoint{}
	for _, p := range all {
		var flag byte
		if p.on {
			flag = 1
		}
		xs = appendDelta(xs, p.x-last.x, &flag, 2, 16)
		ys = appendDelta(ys, p.y-last.y, &flag, 4, 32)
		flags = append(flags, flag)
		last = p
	}
	b = append(append(append(b, flags...), xs...), ys...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendDelta adds a step of a coordinate: nothing for none, one byte for short
// ones. The flags say which.
func appendDelta(b []byte, d int, flag *byte, short, same byte) []byte {
	switch {
	case d == 0:
		*flag |= same
		return b
	case d > -256 && d < 0:
		*flag |= short
		return append(b, byte(-d))
	case d > 0 && d < 256:
		*flag |= short | same
		return append(b, byte(d))
	}
	return be16(b, d)
}

// WebFont is one of the fonts that pictures are drawn with, for a page that
// shows what they show.
type WebFont struct {
	Name   string // of its file
	Family string
	Weight int
	Italic bool
	Ranges string // of its characters, as in CSS; "" = all
	Data   string
	Gzip   bool // the data is compressed
	Emoji  bool // they have no colour here
}

// WebFonts returns the fonts in the order in which a character is looked for.
func WebFonts() []WebFont {
	out := []WebFont{
		{Name: "regular.ttf", Family: "den", Weight: 400, Data: jetBrainsRegular},
		{Name: "bold.ttf", Family: "den", Weight: 700, Data: jetBrainsBold},
		{Name: "italic.ttf", Family: "den", Weight: 400, Italic: true, Data: jetBrainsItalic},
		{Name: "bold-italic.ttf", Family: "den", Weight: 700, Italic: true, Data: jetBrainsBoldItalic},
	}
	for i := range fallbacks {
		f := &fallbacks[i]
		var ranges []string
		for _, h := range f.holds {
			ranges = append(ranges, fmt.Sprintf("U+%X-%X", h.first, h.last))
		}
		out = append(out, WebFont{
			Name: fmt.Sprintf("more-%d.ttf", i+1), Family: fmt.Sprintf("den-%d", i+1), Weight: 400,
			Ranges: strings.Join(ranges, ","), Data: *f.data, Gzip: strings.HasPrefix(*f.data, gzipMark), Emoji: i == plainEmoji,
		})
	}
	return out
}
