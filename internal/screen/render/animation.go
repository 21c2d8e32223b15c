package render

import "image"

// Animation is frames of a recording by what changes in them, in colours of
// one palette for all of it: for GIFs.
type Animation struct {
	f       follower
	c       *canvas[uint8]
	palette *palette
	wide    *canvas[uint32] // for what the palette has no room for; or nil
}

// Delta is the change from one frame to the next. Index 0 leaves a pixel
// unchanged.
type Delta struct {
	Box   image.Rectangle
	Pix   []uint8 // of the box, row by row
	Local []Color // a palette of this frame alone, or nil: the animation's
}

// transparent is the colour at index 0.
const transparent Color = 0

// NewAnimation makes an animation of screens of up to that size.
func (r *Renderer) NewAnimation(cols, rows int) (*Animation, error) {
	if err := r.checkSize(&Grid{Cols: cols, Rows: rows}); err != nil {
		return nil, err
	}
	w, h := r.Size(cols, rows)
	a := &Animation{f: follower{r: r}, palette: newPalette()}
	a.palette.of(transparent)
	a.c = newCanvas(w, h, 0, a.palette)
	a.c.coarse = true
	return a, nil
}

// Size is that of the whole picture.
func (a *Animation) Size() (w, h int) { return a.c.w, a.c.h }

// Palette is the colours used so far.
func (a *Animation) Palette() []Color { return a.palette.colors }

// Next returns what the next frame changes, nil for nothing.
func (a *Animation) Next(g *Grid) *Delta {
	a.f.compare(g)
	if !a.f.all && a.f.area.Empty() {
		return nil
	}
	paintChanges(&a.f, a.c, g)
	box := a.f.box(a.c.w, a.c.h)
	if !a.palette.overflow {
		d := &Delta{Box: box, Pix: make([]uint8, box.Dx()*box.Dy())}
		a.copyChanges(box, g, func(at, x, y, n int) { copy(d.Pix[at:at+n], a.c.row(y, x, x+n)) })
		return d
	}
	// What was blended with colours that had no room is wrong: forget it.
	a.palette.overflow = false
	a.c.forgetInks()
	return a.local(box, g)
}

// local draws a frame in a palette of its own.
func (a *Animation) local(box image.Rectangle, g *Grid) *Delta {
	if a.wide == nil {
		a.wide = newCanvas(a.c.w, a.c.h, 0, trueColors{})
		a.wide.coarse = true
	}
	paintChanges(&a.f, a.wide, g)
	for shift := 0; ; shift++ { // fewer bits of each colour, until all have room
		d := &Delta{Box: box, Pix: make([]uint8, box.Dx()*box.Dy())}
		p := newPalette()
		p.of(transparent)
		for _, c := range []Color{g.Margin, g.Background, g.Foreground, g.CursorColor} {
			p.of(c) // what most of a screen has stays as it is
		}
		a.copyChanges(box, g, func(at, x, y, n int) {
			for i, v := range a.wide.row(y, x, x+n) {
				c := Color(v)
				if _, ok := p.index[c]; !ok {
					c = coarser(c, shift)
				}
				d.Pix[at+i] = p.of(c)
			}
		})
		if !p.overflow {
			d.Local = p.colors
			return d
		}
	}
}

// coarser drops the low bits of a colour's parts.
func coarser(c Color, bits int) Color {
	keep := Color(0xff<<bits) & 0xff
	half := Color(1<<bits) >> 1
	return 0xff<<24 | c&(keep<<16|keep<<8|keep) | half<<16 | half<<8 | half
}

// copyChanges calls do for the pixels of the box that changed, row by row: n
// of them from (x,y) on, whose place in the box's pixels is at.
func (a *Animation) copyChanges(box image.Rectangle, g *Grid, do func(at, x, y, n int)) {
	if a.f.all {
		for y := range a.c.h {
			do(y*a.c.w, 0, y, a.c.w)
		}
		return
	}
	r := a.f.r
	for y := box.Min.Y; y < box.Max.Y; y++ {
		row := (y - r.margin - r.bar) / r.cellH
		changed := a.f.changed[row*g.Cols : (row+1)*g.Cols]
		for x := a.f.area.Min.X; x < a.f.area.Max.X; x++ {
			if changed[x] {
				left := r.margin + x*r.cellW
				do((y-box.Min.Y)*box.Dx()+left-box.Min.X, left, y, r.cellW)
			}
		}
	}
}
