package render

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"den/internal/screen"
)

// fontStack is for viewers: the fonts that PNGs are drawn with come first.
const fontStack = "'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,'Noto Sans Mono CJK SC','Noto Sans CJK SC',monospace"

// SVG draws a grid as an SVG. Text stays text: it can be selected and
// searched, and links work. Every run has an explicit width, so that cells
// align in any font. Lines and blocks are paths.
func (r *Renderer) SVG(g *Grid) (*Picture, error) {
	if err := r.checkSize(g); err != nil {
		return nil, err
	}
	w, h := r.Size(g.Cols, g.Rows)
	s := &svg{r: r, g: g}
	fmt.Fprintf(&s.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="%s" font-size="%s" xml:space="preserve">`+"\n",
		w, h, w, h, fontStack, number(r.px))
	fmt.Fprintf(&s.out, "<style>text{white-space:pre;font-variant-ligatures:none;font-feature-settings:'liga' 0,'calt' 0}a{cursor:pointer}</style>\n")
	if r.bar > 0 {
		s.frame(w, h)
	} else {
		fmt.Fprintf(&s.out, `<rect width="%d" height="%d" fill="%s"/>`+"\n", w, h, g.Margin)
	}
	for y := range g.Rows {
		s.row(y)
	}
	s.cursor()
	s.out.WriteString("</svg>\n")
	return &Picture{Data: s.out.Bytes(), Width: w, Height: h}, nil
}

// svg writes one picture.
type svg struct {
	r   *Renderer
	g   *Grid
	out bytes.Buffer
}

func (s *svg) left(x int) int { return s.r.margin + x*s.r.cellW }
func (s *svg) top(y int) int  { return s.r.margin + s.r.bar + y*s.r.cellH }

func (s *svg) rect(x, y, w, h int, fill Color) {
	fmt.Fprintf(&s.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" shape-rendering="crispEdges"/>`+"\n", x, y, w, h, fill)
}

func (s *svg) row(y int) {
	cells := s.g.Row(y)
	eachRun(cells, func(a, b *Cell) bool { return a.BG == b.BG }, func(from, to int) {
		if cells[from].BG != s.g.Margin {
			s.rect(s.left(from), s.top(y), (to-from)*s.r.cellW, s.r.cellH, cells[from].BG)
		}
	})
	s.symbols(cells, y)
	s.texts(cells, y)
	s.lines(cells, y)
}

// eachRun calls do for each run of neighbours that are the same.
func eachRun(cells []Cell, same func(a, b *Cell) bool, do func(from, to int)) {
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && same(&cells[from], &cells[to]) {
			to++
		}
		do(from, to)
		from = to
	}
}

// symbols draws what is geometry, a path for each colour in a row.
func (s *svg) symbols(cells []Cell, y int) {
	same := func(a, b *Cell) bool { return s.isSymbol(a) == s.isSymbol(b) && a.FG == b.FG }
	eachRun(cells, same, func(from, to int) {
		if !s.isSymbol(&cells[from]) {
			return
		}
		var whole, path strings.Builder
		for x := from; x < to; x++ {
			shape := shapeOf(cells[x].Rune, s.r.cellW*max(1, int(cells[x].Width)), s.r.cellH, s.r.px)
			left, top := s.left(x), s.top(y)
			for _, b := range shape.rects {
				if b.level < full {
					fmt.Fprintf(&s.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="%s" shape-rendering="crispEdges"/>`+"\n",
						left+b.x0, top+b.y0, b.x1-b.x0, b.y1-b.y0, cells[x].FG, number(float64(b.level)/full))
					continue
				}
				fmt.Fprintf(&whole, "M%d %dh%dv%dh%dz", left+b.x0, top+b.y0, b.x1-b.x0, b.y1-b.y0, b.x0-b.x1)
			}
			appendPath(&path, shape.path, float64(left), float64(top))
		}
		if whole.Len() > 0 {
			fmt.Fprintf(&s.out, `<path d="%s" fill="%s" shape-rendering="crispEdges"/>`+"\n", whole.String(), cells[from].FG)
		}
		if path.Len() > 0 {
			fmt.Fprintf(&s.out, `<path d="%s" fill="%s"/>`+"\n", path.String(), cells[from].FG)
		}
	})
}

func (s *svg) isSymbol(c *Cell) bool {
	return c.Width > 0 && c.Cluster == "" && c.Rune >= 0x2500 && shapeOf(c.Rune, s.r.cellW, s.r.cellH, s.r.px) != nil
}

func appendPath(b *strings.Builder, path []segment, left, top float64) {
	for _, seg := range path {
		b.WriteByte(seg.op)
		n := map[byte]int{'M': 1, 'L': 1, 'C': 3}[seg.op]
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(number(left+seg.p[i][0]) + " " + number(top+seg.p[i][1]))
		}
	}
}

// texts writes letters, a run for each style and width.
func (s *svg) texts(cells []Cell, y int) {
	same := func(a, b *Cell) bool {
		return a.FG == b.FG && a.Bold == b.Bold && a.Italic == b.Italic && a.Link == b.Link &&
			(b.Width == 0 && a.Width == 2 || a.Width == b.Width && a.Cluster == "" && b.Cluster == "" && square(a) == square(b)) && !s.isSymbol(a) && !s.isSymbol(b)
	}
	eachRun(cells, same, func(from, to int) {
		if s.isSymbol(&cells[from]) || cells[from].Width == 0 {
			return
		}
		for from < to && cells[from].blank() {
			from++
		}
		for to > from && cells[to-1].blank() && cells[to-1].Width > 0 {
			to--
		}
		if from < to {
			s.text(cells[from:to], from, y)
		}
	})
}

func (s *svg) text(run []Cell, x, y int) {
	var text strings.Builder
	for i := range run {
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
	s.textAt(text.String(), float64(s.left(x)), float64(s.top(y))+s.r.baseline, len(run)*s.r.cellW, first)
	if link {
		s.out.WriteString("</a>")
	}
	s.out.WriteByte('\n')
}

func (s *svg) textAt(text string, x, baseline float64, width int, style *Cell) {
	fmt.Fprintf(&s.out, `<text x="%s" y="%s" fill="%s"`, s.places(text, x, style), number(baseline), style.FG)
	if !square(style) {
		fmt.Fprintf(&s.out, ` textLength="%d" lengthAdjust="spacingAndGlyphs"`, width)
	}
	if style.Bold {
		s.out.WriteString(` font-weight="bold"`)
	}
	if style.Italic {
		s.out.WriteString(` font-style="italic"`)
	}
	fmt.Fprintf(&s.out, ">%s</text>", escape(text))
}

// square reports whether a character is of a script with square characters,
// which are narrower than two cells: it is centred, not stretched.
func square(c *Cell) bool { return c.Width == 2 && c.Cluster == "" && wideScript(c.Rune) }

// places returns the x positions of a run: one, or one for each character if
// they are square.
func (s *svg) places(text string, x float64, style *Cell) string {
	if !square(style) {
		return number(x)
	}
	var all []string
	x += (2*float64(s.r.cellW) - s.r.px) / 2
	for range text {
		all = append(all, number(x))
		x += 2 * float64(s.r.cellW)
	}
	return strings.Join(all, " ")
}

// number is short and the same everywhere: two places are a hundredth of a pixel.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape makes text safe in XML, and leaves out what XML cannot have.
func escape(text string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xfffe || r == 0xffff {
			return 0xfffd
		}
		return r
	}, text))
}
