package render

import (
	"image"
	"slices"

	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// follower knows what is on a canvas that follows a screen frame by frame, so
// that only what changed is painted.
type follower struct {
	r      *Renderer
	shown  Grid
	begun  bool
	cursor image.Point // of the cursor that is drawn, if style is not CursorNone
	style  CursorStyle

	changed []bool          // cell by cell
	area    image.Rectangle // of all that changed, in cells
	all     bool            // even the margins
}

// compare finds what differs between g and what is shown.
func (f *follower) compare(g *Grid) {
	f.all = !f.begun || f.shown.Cols != g.Cols || f.shown.Rows != g.Rows || f.shown.Margin != g.Margin
	if len(f.changed) != len(g.Cells) {
		f.changed = make([]bool, len(g.Cells))
	}
	f.area = image.Rectangle{}
	if f.all {
		for i := range f.changed {
			f.changed[i] = true
		}
		f.area = image.Rect(0, 0, g.Cols, g.Rows)
	} else {
		clear(f.changed)
		for i := range g.Cells {
			if g.Cells[i] != f.shown.Cells[i] {
				f.mark(g, i)
			}
		}
	}
	f.compareCursor(g)
	f.markDouble(g)
	f.keep(g)
}

// mark notes that a cell changed; a wide character changes both its cells.
func (f *follower) mark(g *Grid, i int) {
	x, y := i%g.Cols, i/g.Cols
	from, to := x, x+1
	for _, grid := range []*Grid{g, &f.shown} {
		switch c := &grid.Cells[i]; {
		case c.Width == 2 && x+1 < g.Cols:
			to = x + 2
		case c.Width == 0 && x > 0:
			from = x - 1
		}
	}
	for k := from; k < to; k++ {
		f.changed[y*g.Cols+k] = true
	}
	f.area = f.area.Union(image.Rect(from, y, to, y+1))
}

// markDouble notes that a row changed as a whole, where its characters are or
// were double: they are not where its cells are.
func (f *follower) markDouble(g *Grid) {
	if f.all {
		return
	}
	for y := range g.Rows {
		now, was := g.size(y), f.shown.size(y)
		row := f.changed[y*g.Cols : (y+1)*g.Cols]
		if now == was && (now == vt.SingleSize || !slices.Contains(row, true)) {
			continue
		}
		for x := range row {
			row[x] = true
		}
		f.area = f.area.Union(image.Rect(0, y, g.Cols, y+1))
	}
}

func (f *follower) compareCursor(g *Grid) {
	style, at := f.r.cursorOf(g), image.Pt(g.Cursor.Col, g.Cursor.Row)
	if !f.all && (style != f.style || at != f.cursor) {
		if f.style != CursorNone {
			f.mark(g, f.cursor.Y*g.Cols+f.cursor.X)
		}
		if style != CursorNone {
			f.mark(g, at.Y*g.Cols+at.X)
		}
	}
	f.style, f.cursor = style, at
}

func (f *follower) keep(g *Grid) {
	cells := append(f.shown.Cells[:0], g.Cells...)
	sizes := append(f.shown.Sizes[:0], g.Sizes...)
	f.shown = *g
	f.shown.Cells, f.shown.Sizes = cells, sizes
	f.shown.page = redact.Page{}
	f.begun = true
}

// paintChanges paints what compare has found.
func paintChanges[P pixel](f *follower, c *canvas[P], g *Grid) {
	if f.all {
		c.rect(0, 0, c.w, c.h, g.Margin)
	}
	for y := f.area.Min.Y; y < f.area.Max.Y; y++ {
		row := f.changed[y*g.Cols : (y+1)*g.Cols]
		for x := f.area.Min.X; x < f.area.Max.X; {
			if !row[x] {
				x++
				continue
			}
			end := x
			for end < f.area.Max.X && row[end] {
				end++
			}
			paintRow(f.r, c, g, y, x, end)
			x = end
		}
	}
	paintCursor(f.r, c, g)
}

// box is the changed area in pixels.
func (f *follower) box(w, h int) image.Rectangle {
	if f.all {
		return image.Rect(0, 0, w, h)
	}
	left, top := f.r.margin, f.r.margin+f.r.bar
	return image.Rect(left+f.area.Min.X*f.r.cellW, top+f.area.Min.Y*f.r.cellH, left+f.area.Max.X*f.r.cellW, top+f.area.Max.Y*f.r.cellH)
}

// Reel is frames of a recording in true colours, for a video encoder.
type Reel struct {
	f follower
	c *canvas[uint32]
}

// NewReel makes a reel for screens of up to that size.
func (r *Renderer) NewReel(cols, rows int) (*Reel, error) {
	if err := r.checkSize(&Grid{Cols: cols, Rows: rows}); err != nil {
		return nil, err
	}
	w, h := r.Size(cols, rows)
	// Encoders want even sizes.
	return &Reel{f: follower{r: r}, c: newCanvas(w+w%2, h+h%2, 0, trueColors{})}, nil
}

// Size is that of every frame.
func (m *Reel) Size() (w, h int) { return m.c.w, m.c.h }

// Next paints the next frame and reports whether it differs from the last.
func (m *Reel) Next(g *Grid) bool {
	m.f.compare(g)
	if !m.f.all && m.f.area.Empty() {
		return false
	}
	paintChanges(&m.f, m.c, g)
	return true
}

// AppendBGRA appends the frame's pixels, four bytes each.
func (m *Reel) AppendBGRA(dst []byte) []byte {
	for _, v := range m.c.pix {
		dst = append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return dst
}
