package render

import (
	"slices"

	"den/internal/screen/vt"
)

// paint draws a whole picture. It reports the number of finished pixel rows on
// the way.
func paint[P pixel](r *Renderer, c *canvas[P], g *Grid, done func(rows int)) {
	c.rect(0, 0, c.w, c.h, g.Margin)
	for y := range g.Rows {
		paintRow(r, c, g, y, 0, g.Cols)
		if g.Cursor.Row == y {
			paintCursor(r, c, g)
		}
		if r.bar == 0 { // a frame goes around all rows
			done(r.margin + (y+1)*r.cellH)
		}
	}
	if r.bar > 0 {
		paintFrame(r, c, g)
	}
}

// paintRow draws the cells of row y from column x0 up to x1.
func paintRow[P pixel](r *Renderer, c *canvas[P], g *Grid, y, x0, x1 int) {
	if g.size(y) != vt.SingleSize {
		paintDouble(r, c, g, g.shown(y), y)
		return
	}
	cells := g.Row(y)
	top := r.margin + r.bar + y*r.cellH
	for x := x0; x < x1; { // backgrounds, run by run
		end := x + 1
		for end < x1 && cells[end].BG == cells[x].BG {
			end++
		}
		c.rect(r.margin+x*r.cellW, top, r.margin+end*r.cellW, top+r.cellH, cells[x].BG)
		x = end
	}
	for x := x0; x < x1; x++ {
		paintCell(r, c, &cells[x], r.margin+x*r.cellW, top)
	}
}

// paintCell draws a character and its lines over the background.
func paintCell[P pixel](r *Renderer, c *canvas[P], cell *Cell, left, top int) {
	if cell.Image != nil {
		if m := r.pictures.tile(cell, r.cellW, r.cellH); m != nil {
			c.picture(m, left, top, cell.BG)
		}
		return
	}
	if cell.Width > 0 && !cell.blank() {
		c.mask(r.glyphs.of(cell), left, top, cell.FG, cell.BG)
	}
	if !cell.plain() {
		decorate(c, &r.decor, cell, left, top, r.cellW)
		if cell.Width == 2 {
			decorate(c, &r.decor, cell, left+r.cellW, top, r.cellW)
		}
	}
}

func paintCursor[P pixel](r *Renderer, c *canvas[P], g *Grid) {
	style := r.cursorOf(g)
	if style == CursorNone {
		return
	}
	row, col := g.Cursor.Row, g.Cursor.Col
	if cells := g.Row(row); cells[col].Width == 0 && col > 0 {
		col--
	}
	cellW := r.cellW
	if g.size(row) != vt.SingleSize {
		col, cellW = min(col, len(g.shown(row))-1), 2*r.cellW
	}
	cell := g.Row(row)[col]
	left, top := r.margin+col*cellW, r.margin+r.bar+row*r.cellH
	w := cellW * max(int(cell.Width), 1)
	thick := max(2, 2*r.thick)
	switch style {
	case CursorBar:
		c.rect(left, top, left+thick, top+r.cellH, g.CursorColor)
	case CursorUnderline:
		c.rect(left, top+r.cellH-thick, left+w, top+r.cellH, g.CursorColor)
	case CursorHollow:
		c.rect(left, top, left+w, top+r.thick, g.CursorColor)
		c.rect(left, top+r.cellH-r.thick, left+w, top+r.cellH, g.CursorColor)
		c.rect(left, top, left+r.thick, top+r.cellH, g.CursorColor)
		c.rect(left+w-r.thick, top, left+w, top+r.cellH, g.CursorColor)
	default:
		cell.FG, cell.BG = cell.BG, g.CursorColor
		if cell.FG == cell.BG { // text of inverse colours under the cursor
			cell.FG = g.Background
		}
		cell.UnderlineColor, cell.Image = cell.FG, nil
		if g.size(row) != vt.SingleSize {
			cells := slices.Clone(g.shown(row))
			cells[col] = cell
			paintDouble(r, c, g, cells, row)
			return
		}
		c.rect(left, top, left+w, top+r.cellH, cell.BG)
		paintCell(r, c, &cell, left, top)
	}
}
