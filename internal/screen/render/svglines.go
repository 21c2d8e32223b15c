package render

import (
	"fmt"
	"math"
	"strings"

	"den/internal/screen/vt"
)

// lines draws underlines, overlines and strikes.
func (s *svg) lines(cells []Cell, y int) {
	same := func(i, j int) bool {
		a, b := &cells[i], &cells[j]
		return a.Underline == b.Underline && a.UnderlineColor == b.UnderlineColor && a.FG == b.FG && a.Strike == b.Strike && a.Over == b.Over
	}
	eachRun(len(cells), same, func(from, to int) {
		c := &cells[from]
		if c.plain() {
			return
		}
		d := &s.r.decor
		x, top, w := s.left(from), s.top(y), (to-from)*s.r.cellW
		switch c.Underline {
		case vt.UnderlineNone:
		case vt.UnderlineDouble:
			s.rect(x, top+d.doubleY, w, d.thick, c.UnderlineColor)
			s.rect(x, top+d.doubleY+2*d.thick, w, d.thick, c.UnderlineColor)
		case vt.UnderlineCurly:
			s.wave(x, top+d.underY, to-from, c.UnderlineColor)
		case vt.UnderlineDotted:
			s.broken(x, top+d.underY, w, c.UnderlineColor, d.thick, d.thick)
		case vt.UnderlineDashed:
			s.broken(x, top+d.underY, w, c.UnderlineColor, s.r.cellW/3, s.r.cellW/6)
		default:
			s.rect(x, top+d.underY, w, d.thick, c.UnderlineColor)
		}
		if c.Strike {
			s.rect(x, top+d.strikeY, w, d.thick, c.FG)
		}
		if c.Over {
			s.rect(x, top, w, d.thick, c.FG)
		}
	})
}

// wave is one period a cell, as in PNGs.
func (s *svg) wave(x, y, cells int, color Color) {
	amplitude := math.Max(1, float64(s.r.thick)*1.3)
	quarter := float64(s.r.cellW) / 4
	var d strings.Builder
	fmt.Fprintf(&d, "M%d %d", x, y)
	for range cells {
		fmt.Fprintf(&d, "q%s %s %s 0t%s 0", number(quarter), number(2*amplitude), number(2*quarter), number(2*quarter))
	}
	fmt.Fprintf(&s.out, `<path d="%s" fill="none" stroke="%s" stroke-width="%d"/>`+"\n", d.String(), color, s.r.thick)
}

func (s *svg) broken(x, y, w int, color Color, on, off int) {
	fmt.Fprintf(&s.out, `<path d="M%d %sh%d" stroke="%s" stroke-width="%d" stroke-dasharray="%d %d"/>`+"\n",
		x, number(float64(y)+float64(s.r.thick)/2), w, color, s.r.thick, max(1, on), max(1, off))
}

func (s *svg) cursor() {
	style := s.r.cursorOf(s.g)
	if style == CursorNone {
		return
	}
	row, col := s.g.Cursor.Row, s.g.Cursor.Col
	if s.g.Row(row)[col].Width == 0 && col > 0 {
		col--
	}
	col = min(col, len(s.g.shown(row))-1)
	defer s.resize(row, len(s.g.shown(row)))()
	cell := s.g.Row(row)[col]
	x, y, w := s.left(col), s.top(row), s.r.cellW*max(1, int(cell.Width))
	thick := max(2, 2*s.r.thick)
	switch style {
	case CursorBar:
		s.rect(x, y, thick, s.r.cellH, s.g.CursorColor)
	case CursorUnderline:
		s.rect(x, y+s.r.cellH-thick, w, thick, s.g.CursorColor)
	case CursorHollow:
		fmt.Fprintf(&s.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="%s" stroke-width="%d"/>`+"\n",
			x, y, w-1, s.r.cellH-1, s.g.CursorColor, s.r.thick)
	default:
		s.rect(x, y, w, s.r.cellH, s.g.CursorColor)
		if !cell.blank() {
			cell.FG = cell.BG
			s.characters([]Cell{cell}, col, row)
		}
	}
}

// frame draws the window around the screen.
func (s *svg) frame(w, h int) {
	f := s.r.frameOf(s.g)
	radius := number(f.radius)
	half := float64(s.r.thick) / 2
	fmt.Fprintf(&s.out, `<rect width="%d" height="%d" rx="%s" fill="%s"/>`+"\n", w, h, radius, s.g.Margin)
	fmt.Fprintf(&s.out, `<path d="M0 %dV%sa%s %s 0 0 1 %s -%sH%sa%s %s 0 0 1 %s %sV%dz" fill="%s"/>`+"\n",
		s.r.bar, radius, radius, radius, radius, radius, number(float64(w)-f.radius), radius, radius, radius, radius, s.r.bar, f.bar)
	fmt.Fprintf(&s.out, `<rect x="%s" y="%s" width="%s" height="%s" rx="%s" fill="none" stroke="%s" stroke-width="%d"/>`+"\n",
		number(half), number(half), number(float64(w)-2*half), number(float64(h)-2*half), radius, f.edge, s.r.thick)
	for i, color := range f.dots {
		fmt.Fprintf(&s.out, `<circle cx="%s" cy="%s" r="%s" fill="%s"/>`+"\n", number(f.dotX+float64(i)*f.dotStep), number(float64(s.r.bar)/2), number(f.dotRadius), color)
	}
	cells := s.r.titleCells(s.g, w, f)
	if len(cells) == 0 {
		return
	}
	var title strings.Builder
	for i := range cells {
		title.WriteString(cells[i].Text())
		if !s.fonts.add(&s.r.glyphs, cells[i].Rune, 1, 0) {
			s.r.glyphs.of(&cells[i]) // it notes what is missing
		}
	}
	width := len(cells) * s.r.cellW
	baseline := float64(s.r.bar-s.r.cellH)/2 + s.r.baseline
	s.textAt(title.String(), float64(w-width)/2, baseline, width, &cells[0])
	s.out.WriteByte('\n')
}
