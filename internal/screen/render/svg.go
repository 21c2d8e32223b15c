package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math"
	"strconv"
	"strings"

	"den/internal/base/lazy"
	"den/internal/screen"
)

// fontStack is for viewers that do not take the picture's own fonts.
const fontStack = "'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,'Noto Sans Mono CJK SC','Noto Sans CJK SC',monospace"

// SVG draws a grid as an SVG. Text stays text: it can be selected and
// searched, and links work. The letters come along in fonts of this picture's
// characters; every run has an explicit width too, so that cells align in any
// font. Lines and blocks are paths, and so is what no font can hold.
func (r *Renderer) SVG(g *Grid) (*Picture, error) {
	if err := r.checkSize(g); err != nil {
		return nil, err
	}
	w, h := r.Size(g.Cols, g.Rows)
	s := &svg{r: r, g: g}
	if r.bar > 0 {
		s.frame(w, h)
	} else {
		fmt.Fprintf(&s.out, `<rect width="%d" height="%d" fill="%s"/>`+"\n", w, h, g.Margin)
	}
	for y := range g.Rows {
		s.row(y)
	}
	s.cursor()
	rules, family := s.fonts.css(&r.glyphs)
	if family != "" {
		family += ","
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="%s%s" font-size="%s" xml:space="preserve">`+"\n",
		w, h, w, h, family, fontStack, number(r.px))
	fmt.Fprintf(&out, "<style>%stext{white-space:pre;direction:ltr;unicode-bidi:bidi-override;font-variant-ligatures:none;font-feature-settings:'liga' 0,'calt' 0}a{cursor:pointer}</style>\n", rules)
	s.defs.write(&out)
	out.Write(s.out.Bytes())
	out.WriteString("</svg>\n")
	return &Picture{Data: out.Bytes(), Width: w, Height: h, Missing: r.missed(g)}, nil
}

// svg writes one picture.
type svg struct {
	r     *Renderer
	g     *Grid
	fonts svgFonts
	out   bytes.Buffer
	defs  svgImages
	alone bool // a row is drawn in a picture of its own: from (0,0) on
}

func (s *svg) left(x int) int {
	if s.alone {
		return x * s.r.cellW
	}
	return s.r.margin + x*s.r.cellW
}

func (s *svg) top(y int) int {
	if s.alone {
		return 0
	}
	return s.r.margin + s.r.bar + y*s.r.cellH
}

func (s *svg) rect(x, y, w, h int, fill Color) {
	fmt.Fprintf(&s.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" shape-rendering="crispEdges"/>`+"\n", x, y, w, h, fill)
}

func (s *svg) row(y int) {
	cells := s.g.shown(y)
	defer s.resize(y, len(cells))()
	eachRun(len(cells), func(a, b int) bool { return cells[a].BG == cells[b].BG }, func(from, to int) {
		if cells[from].BG != s.g.Margin {
			s.rect(s.left(from), s.top(y), (to-from)*s.r.cellW, s.r.cellH, cells[from].BG)
		}
	})
	s.tiles(cells, y)
	s.characters(cells, 0, y)
	s.lines(cells, y)
}

// characters draws cells from column x on: what is geometry, what only a
// drawing can show, and text.
func (s *svg) characters(cells []Cell, x, y int) {
	kinds := make([]kind, len(cells))
	for i := range cells {
		kinds[i] = s.kindOf(&cells[i])
	}
	s.symbols(cells, kinds, x, y)
	for i := range cells {
		if kinds[i] == asDrawing {
			s.drawing(&cells[i], x+i, y)
		}
	}
	s.texts(cells, kinds, x, y)
}

// kind says how a character gets into the picture.
type kind uint8

const (
	asText     kind = iota // in a font of the picture
	asSymbol               // geometry that fills its cell
	asDrawing              // a path or a picture: marks, colours, or a box for what is missing
	secondHalf             // of a wide character
)

func (s *svg) kindOf(c *Cell) kind {
	switch {
	case c.Width == 0:
		return secondHalf
	case c.blank():
		s.fonts.add(&s.r.glyphs, ' ', 1, c.weight()) // between words
		return asText
	case c.Cluster == "" && c.Rune > 0x7f && shapeOf(c.Rune, s.r.cellW, s.r.cellH, s.r.px) != nil:
		return asSymbol
	case c.Cluster != "" || wantsEmoji([]rune{c.Rune}, int(c.Width)) && s.r.fonts.emojiFace() != nil:
		return asDrawing
	case s.fonts.add(&s.r.glyphs, c.Rune, int(c.Width), c.weight()):
		return asText
	}
	return asDrawing
}

// eachRun calls do for each run of neighbours, of so many, that are the same.
func eachRun(n int, same func(a, b int) bool, do func(from, to int)) {
	for from := 0; from < n; {
		to := from + 1
		for to < n && same(from, to) {
			to++
		}
		do(from, to)
		from = to
	}
}

// symbols draws what is geometry, a path for each colour in a row.
func (s *svg) symbols(cells []Cell, kinds []kind, x0, y int) {
	same := func(a, b int) bool { return kinds[a] == kinds[b] && cells[a].FG == cells[b].FG }
	eachRun(len(cells), same, func(from, to int) {
		if kinds[from] != asSymbol {
			return
		}
		var whole, path strings.Builder
		for x := from; x < to; x++ {
			c := &cells[x]
			s.shape(shapeOf(c.Rune, s.r.cellW*max(1, int(c.Width)), s.r.cellH, s.r.px), c.FG, s.left(x0+x), s.top(y), &whole, &path)
		}
		s.paths(whole.String(), path.String(), cells[from].FG)
	})
}

// shape adds geometry to paths: what is of whole pixels, and the rest. Shades
// are written at once.
func (s *svg) shape(shape *shape, color Color, left, top int, whole, path *strings.Builder) {
	for _, b := range shape.rects {
		if b.level < full {
			fmt.Fprintf(&s.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="%s" shape-rendering="crispEdges"/>`+"\n",
				left+b.x0, top+b.y0, b.x1-b.x0, b.y1-b.y0, color, number(float64(b.level)/full))
			continue
		}
		fmt.Fprintf(whole, "M%d %dh%dv%dh%dz", left+b.x0, top+b.y0, b.x1-b.x0, b.y1-b.y0, b.x0-b.x1)
	}
	appendPath(path, shape.path, float64(left), float64(top))
}

func (s *svg) paths(whole, path string, color Color) {
	if whole != "" {
		fmt.Fprintf(&s.out, `<path d="%s" fill="%s" shape-rendering="crispEdges"/>`+"\n", whole, color)
	}
	if path != "" {
		fmt.Fprintf(&s.out, `<path d="%s" fill="%s"/>`+"\n", path, color)
	}
}

// drawing draws one character, and puts its text over it, which nobody sees.
func (s *svg) drawing(c *Cell, x, y int) {
	g := &s.r.glyphs
	left, top, boxW := s.left(x), s.top(y), s.r.cellW*int(c.Width)
	m := g.of(c) // it also notes what is missing
	if m.color != nil {
		fmt.Fprintf(&s.out, `<image x="%d" y="%d" width="%d" height="%d" href="data:image/png;base64,%s"/>`+"\n", left, top, boxW, g.cellH, base64.StdEncoding.EncodeToString(encodePicture(m.color)))
	} else {
		var whole, path strings.Builder
		placed, missing := g.lay([]rune(c.Text()), int(c.Width), c.weight())
		if placed == nil && len(missing) > 0 {
			s.shape(tofuShape(missing[0], boxW, g.cellH, g.px), c.FG, left, top, &whole, &path)
		}
		for i := range placed {
			appendPath(&path, placed[i].path(), float64(left), float64(top))
		}
		s.paths(whole.String(), path.String(), c.FG)
	}
	fmt.Fprintf(&s.out, `<text x="%d" y="%s" fill-opacity="0" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
		left, number(float64(top)+s.r.baseline), boxW, escape(c.Text()))
}

// encodePicture returns a small picture as a PNG.
func encodePicture(m *image.RGBA) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

func appendPath(b *strings.Builder, path []segment, left, top float64) {
	for _, seg := range path {
		b.WriteByte(seg.op)
		n := map[byte]int{'M': 1, 'L': 1, 'Q': 2, 'C': 3}[seg.op]
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(number(left+seg.p[i][0]) + " " + number(top+seg.p[i][1]))
		}
	}
}

// texts writes letters, a run for each style and width.
func (s *svg) texts(cells []Cell, kinds []kind, x0, y int) {
	same := func(i, j int) bool {
		a, b := &cells[i], &cells[j]
		if a.FG != b.FG || a.Bold != b.Bold || a.Italic != b.Italic || a.Link != b.Link || kinds[i] != asText {
			return false
		}
		return kinds[j] == asText && a.Width == b.Width || kinds[j] == secondHalf && a.Width == 2
	}
	eachRun(len(cells), same, func(from, to int) {
		for from < to && (kinds[from] == secondHalf || cells[from].blank()) {
			from++
		}
		for to > from && cells[to-1].blank() && kinds[to-1] != secondHalf {
			to--
		}
		if from < to && kinds[from] == asText {
			s.text(cells[from:to], x0+from, y)
		}
	})
}

func (s *svg) text(run []Cell, x, y int) {
	var text strings.Builder
	width := 0
	for i := range run {
		width += int(run[i].Width)
		switch c := &run[i]; {
		case c.Width == 0:
		case c.Rune == 0:
			text.WriteByte(' ')
		default:
			text.WriteString(c.Text())
		}
	}
	first := &run[0]
	link := screen.SafeLink(first.Link)
	if link {
		fmt.Fprintf(&s.out, `<a href="%s">`, escape(first.Link))
	}
	s.textAt(text.String(), float64(s.left(x)), float64(s.top(y))+s.r.baseline, width*s.r.cellW, first)
	if link {
		s.out.WriteString("</a>")
	}
	s.out.WriteByte('\n')
}

func (s *svg) textAt(text string, x, baseline float64, width int, style *Cell) {
	fmt.Fprintf(&s.out, `<text x="%s" y="%s" fill="%s" textLength="%d" lengthAdjust="spacingAndGlyphs"`, number(x), number(baseline), style.FG, width)
	if style.Bold {
		s.out.WriteString(` font-weight="bold"`)
	}
	if style.Italic {
		s.out.WriteString(` font-style="italic"`)
	}
	fmt.Fprintf(&s.out, ">%s</text>", escape(text))
}

// number is short and the same everywhere: two places are a hundredth of a pixel.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

var xmlEscapes = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
}}

// escape makes text safe in XML, and leaves out what XML cannot have.
func escape(text string) string {
	return xmlEscapes.Get().Replace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xfffe || r == 0xffff {
			return 0xfffd
		}
		return r
	}, text))
}
