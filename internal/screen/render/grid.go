package render

import (
	"unicode/utf8"

	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// Grid is a screen ready to be drawn.
type Grid struct {
	Cols, Rows int
	Cells      []Cell        // row by row
	Sizes      []vt.LineSize // of the rows; of a double row the left half of the cells is shown
	Cursor     vt.Cursor
	Title      string

	Foreground, Background, CursorColor Color
	Margin                              Color // around the cells: what most of them at the sides have

	page redact.Page // of the last frame that was redacted
}

// Cell is one character position with its colours resolved: inverse, dim and
// hidden are in them already.
type Cell struct {
	Rune           rune   // the first rune of the character; 0 = nothing to draw
	Cluster        string // the whole character, if it has more runes than one
	Width          uint8  // 0 = second half of a wide character, 1, 2
	Bold, Italic   bool
	Strike, Over   bool
	Underline      vt.Underline
	FG, BG         Color
	UnderlineColor Color
	Link           string
	Image          *vt.Image // or nil; Rune is 0 then
	Tile           tile      // which part of the image
}

// tile is a column and a row of an image's cells.
type tile struct{ x, y int32 }

// Row returns the cells of row y.
func (g *Grid) Row(y int) []Cell { return g.Cells[y*g.Cols : (y+1)*g.Cols] }

// size is that of the characters in row y.
func (g *Grid) size(y int) vt.LineSize {
	if y < len(g.Sizes) {
		return g.Sizes[y]
	}
	return vt.SingleSize
}

// shown returns the cells of row y that are shown: of a double row the left half.
func (g *Grid) shown(y int) []Cell {
	cells := g.Row(y)
	if g.size(y) != vt.SingleSize {
		return cells[:max(1, g.Cols/2)]
	}
	return cells
}

// Text is the character in the cell, "" for none.
func (c *Cell) Text() string {
	if c.Cluster != "" || c.Rune == 0 {
		return c.Cluster
	}
	return string(c.Rune)
}

// blank reports that the cell shows nothing but its background.
func (c *Cell) blank() bool { return c.Rune == 0 || c.Rune == ' ' && c.Cluster == "" }

// plain reports that nothing is drawn over the background and the character.
func (c *Cell) plain() bool { return c.Underline == vt.UnderlineNone && !c.Strike && !c.Over }

// FromTerminal returns the screen of t in the colours of a theme. Colours set
// by the program take precedence.
func FromTerminal(t *vt.Terminal, theme *Theme) *Grid {
	g := &Grid{}
	g.Take(t, theme)
	return g
}

// Take is FromTerminal into a grid that there is: for frame after frame.
func (g *Grid) Take(t *vt.Terminal, theme *Theme) {
	cols, rows := t.Size()
	if g.Cols != cols || g.Rows != rows || g.Cells == nil {
		g.Cols, g.Rows = cols, rows
		g.Cells = make([]Cell, cols*rows)
		g.Sizes = make([]vt.LineSize, rows)
	}
	res := newResolver(t, theme)
	g.Foreground, g.Background, g.CursorColor = res.fg, res.bg, res.cursor
	g.Cursor, g.Title = t.Cursor(), t.Title()
	var buf []byte
	for y := range rows {
		row := t.Row(y)
		g.Sizes[y] = row.Size()
		cells := g.Row(y)
		var last *resolvedStyle // of the cell before: most neighbours have the same
		var style uint32
		for x := range cells {
			c := &cells[x]
			if id := row.StyleID(x); last == nil || id != style {
				last, style = res.style(id), id
			}
			*c = last.cell
			c.Width = uint8(row.Width(x))
			if c.Width == 0 && x > 0 {
				c.BG = cells[x-1].BG // a wide character has one background
				continue
			}
			buf = row.AppendCell(buf[:0], x)
			if len(buf) == 0 || last.hidden {
				continue
			}
			r, n := utf8.DecodeRune(buf)
			c.Rune = r
			if solid(r) {
				c.FG = last.solid
			}
			if n < len(buf) {
				c.Cluster = string(buf)
			}
		}
		for _, t := range row.Tiles() {
			g.putImage(y, t.Col, t.Width, t.Image, tile{int32(t.X), int32(t.Y)})
		}
	}
	g.Margin = g.edge()
}

// putImage makes n cells of row y, from column x on, show an image from one of
// its cells on.
func (g *Grid) putImage(y, x, n int, img *vt.Image, first tile) {
	for i := range n {
		c := &g.Row(y)[x+i]
		c.Rune, c.Cluster, c.Image, c.Tile = 0, "", img, tile{first.x + int32(i), first.y}
	}
}

// edge is the background of most cells at the sides, or that of the screen
// where no colour has most: a program that fills the screen fills the margin,
// too. Bars at the top and the bottom do not count: they have colours of their
// own.
func (g *Grid) edge() Color {
	count := map[Color]int{}
	for y := range g.Rows {
		count[g.Row(y)[0].BG]++
		count[g.Row(y)[g.Cols-1].BG]++
	}
	for color, n := range count {
		if n > g.Rows {
			return color
		}
	}
	return g.Background
}

// Redact covers what r hides on the screen of t, which the grid was taken from,
// before anything is drawn: cell by cell with a bar.
func (g *Grid) Redact(t *vt.Terminal, r *redact.Redactor) {
	if r == nil {
		return
	}
	g.page.Take(t, 0)
	g.page.Hide(r)
	for y := range g.Rows {
		for x, hide := range g.page.Hidden(y) {
			if !hide {
				continue
			}
			i := y*g.Cols + x
			if wide := g.Cells[i].Width == 2 && x+1 < g.Cols; wide {
				g.cover(i + 1)
			}
			g.cover(i)
		}
	}
	for i := range g.Cells {
		if c := &g.Cells[i]; c.Link != "" && r.Text(c.Link) != c.Link {
			c.Link = ""
		}
	}
	g.Title = r.Text(g.Title)
}

// Empty takes everything off row y, if there is one, and the cursor with it.
func (g *Grid) Empty(y int) {
	if y >= g.Rows {
		return
	}
	row := g.Row(y)
	for x := range row {
		row[x] = Cell{Width: 1, FG: g.Foreground, BG: g.Background}
	}
	g.Sizes[y] = vt.SingleSize
	g.Cursor.Visible = g.Cursor.Visible && g.Cursor.Row != y
	g.Margin = g.edge()
}

// cover puts a bar over a cell.
func (g *Grid) cover(i int) {
	c := &g.Cells[i]
	c.Rune, c.Cluster, c.Width, c.Image = '█', "", 1, nil
	c.FG = mix(c.FG, c.BG, dimLevel)
	if c.FG == c.BG {
		c.FG = mix(g.Foreground, c.BG, dimLevel)
	}
	c.Underline, c.Strike, c.Over, c.Bold, c.Italic = vt.UnderlineNone, false, false, false, false
}
