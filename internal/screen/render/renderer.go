package render

import (
	"math"

	"den/internal/base/fault"
)

// CursorStyle says how the cursor is drawn.
type CursorStyle string

// The ways to draw a cursor. All but CursorNone leave out one that the program
// has hidden.
const (
	CursorNone      CursorStyle = ""
	CursorAsSet     CursorStyle = "auto" // in the shape that the program chose
	CursorBlock     CursorStyle = "block"
	CursorBar       CursorStyle = "bar"
	CursorUnderline CursorStyle = "underline"
	CursorHollow    CursorStyle = "hollow"
)

// Options say how a screen is drawn.
type Options struct {
	Theme  *Theme  // or nil: the default
	Scale  float64 // 0 = 1: a cell of 9 by 20 pixels
	Cursor CursorStyle
	Frame  bool // a window around it, with the title
	// EmbeddedOnly leaves the machine's fonts alone: the same picture on every
	// machine.
	EmbeddedOnly bool
}

// The smallest scale, below which nothing can be read, and the largest: a cell
// of 72 by 160 pixels.
const (
	MinScale = 0.5
	MaxScale = 8
)

// maxPixels bounds a picture: memory, and what viewers open.
const maxPixels = 200 << 20

// baseSize is the letters' size at scale 1.
const baseSize = 15

// Renderer draws grids.
type Renderer struct {
	o     Options
	theme *Theme
	glyphs
	decor
	pictures
	margin int
	bar    int            // the height of the frame's title bar, or 0
	canvas *canvas[uint8] // of the last picture, or nil
	twice  *Renderer      // for double-size rows, or nil: none was drawn yet
}

// New returns a renderer. Nothing is read before the first grid.
func New(o Options) (*Renderer, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Scale < MinScale || o.Scale > MaxScale || math.IsNaN(o.Scale) {
		return nil, fault.Errorf(fault.Usage, "scale %v: from %v to %v", o.Scale, MinScale, MaxScale)
	}
	switch o.Cursor {
	case CursorNone, CursorAsSet, CursorBlock, CursorBar, CursorUnderline, CursorHollow:
	default:
		return nil, fault.Errorf(fault.Usage, "cursor '%s': auto, block, bar, underline or hollow", o.Cursor)
	}
	r := &Renderer{o: o, theme: o.Theme}
	if r.theme == nil {
		r.theme = &themes.Get()[0]
	}
	px := baseSize * o.Scale
	r.glyphs = glyphs{
		cellW: int(math.Round(9 * o.Scale)), cellH: int(math.Round(20 * o.Scale)), px: px,
		baseline: baselineOf(px),
		fonts:    chain{embeddedOnly: o.EmbeddedOnly},
		simple:   map[uint64]*mask{}, clusters: map[clusterKey]*mask{}, missing: map[string][]rune{},
	}
	r.decor = newDecor(r.cellW, r.cellH, px, r.baseline)
	r.margin = int(math.Round(8 * o.Scale))
	if o.Frame {
		r.bar = int(math.Round(30 * o.Scale))
	}
	return r, nil
}

// Theme returns the theme for grids of this renderer.
func (r *Renderer) Theme() *Theme { return r.theme }

// Size is that of the picture of a screen.
func (r *Renderer) Size(cols, rows int) (w, h int) {
	return cols*r.cellW + 2*r.margin, rows*r.cellH + 2*r.margin + r.bar
}

func (r *Renderer) checkSize(g *Grid) error {
	if w, h := r.Size(g.Cols, g.Rows); w*h > maxPixels {
		return fault.Hintf(fault.Errorf(fault.Export, "a picture of %d by %d cells would have %d by %d pixels", g.Cols, g.Rows, w, h), "use a smaller --scale")
	}
	return nil
}

// cursorOf returns how the grid's cursor is drawn, CursorNone for not at all.
func (r *Renderer) cursorOf(g *Grid) CursorStyle {
	c := g.Cursor
	if r.o.Cursor == CursorNone || !c.Visible || c.Row >= g.Rows || c.Col >= g.Cols {
		return CursorNone
	}
	if r.o.Cursor == CursorAsSet {
		return CursorStyle(c.Shape.String())
	}
	return r.o.Cursor
}
