package render

import (
	"bytes"
	"image"
	"image/draw"
	"image/png"
	"math"

	"den/internal/screen/vt"
)

// maxDecoded bounds the pixels of images that are kept decoded. At the bound all
// are forgotten: a screen has few images.
const maxDecoded = 8 << 20

// pictures keeps images decoded, while they are drawn cell by cell.
type pictures struct {
	decoded map[*vt.Image]*image.RGBA // nil: it cannot be decoded
	pixels  int
}

// of returns the part of an image that is shown, or nil.
func (p *pictures) of(img *vt.Image) *image.RGBA {
	m, ok := p.decoded[img]
	if ok {
		return m
	}
	if n := img.Source.W * img.Source.H; p.decoded == nil || p.pixels+n > maxDecoded {
		p.decoded, p.pixels = map[*vt.Image]*image.RGBA{}, 0
	}
	m = decode(img)
	if m != nil {
		p.pixels += m.Rect.Dx() * m.Rect.Dy()
	}
	p.decoded[img] = m
	return m
}

// decode reads an image's picture. The emulator has looked at its size; one that
// came from elsewhere is looked at here.
func decode(img *vt.Image) *image.RGBA {
	c, err := png.DecodeConfig(bytes.NewReader(img.PNG))
	if err != nil || c.Width*c.Height > maxDecoded || c.Width != img.Width || c.Height != img.Height {
		return nil
	}
	src, err := png.Decode(bytes.NewReader(img.PNG))
	part := image.Rect(img.Source.X, img.Source.Y, img.Source.X+img.Source.W, img.Source.Y+img.Source.H)
	if err != nil || part.Empty() || !part.In(src.Bounds()) || img.Box.W <= 0 || img.Box.H <= 0 {
		return nil
	}
	m := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	draw.Draw(m, m.Rect, src, part.Min, draw.Src)
	return m
}

// tile draws what a cell shows of an image, for a cell of w by h pixels; nil for
// nothing.
func (p *pictures) tile(c *Cell, w, h int) *mask {
	src := p.of(c.Image)
	if src == nil {
		return nil
	}
	box := c.Image.Box
	xs := spread(w, int(c.Tile.x), vt.CellWidth, box.X, box.W, src.Rect.Dx())
	ys := spread(h, int(c.Tile.y), vt.CellHeight, box.Y, box.H, src.Rect.Dy())
	m := &mask{w: w, h: h, color: image.NewRGBA(image.Rect(0, 0, w, h))}
	for y := range ys {
		for x := range xs {
			copy(m.color.Pix[y*m.color.Stride+4*x:], average(src, xs[x], ys[y]))
		}
	}
	return m
}

// span is the part of a row or a column of pixels that one pixel of the drawing
// covers, and how much of that pixel is inside the image.
type span struct {
	from, to float64
	part     float64
}

// spread returns the spans of the n pixels of one side of a cell, which is cell
// at of an image that is drawn from from on over so many of the units that a
// cell has, and has so many pixels.
func spread(n, at, unit, from, size, pixels int) []span {
	out := make([]span, n)
	step := float64(unit) / float64(n)
	scale := float64(pixels) / float64(size)
	for i := range out {
		a := float64(at*unit-from) + float64(i)*step
		b := a + step
		inside := math.Min(b, float64(size)) - math.Max(a, 0)
		if inside <= 0 {
			continue
		}
		s := span{from: a * scale, to: b * scale, part: math.Min(inside/step, 1)}
		// At least a pixel wide: then it lies between two of them and mixes both.
		if wide := s.to - s.from; wide < 1 {
			s.from, s.to = s.from-(1-wide)/2, s.to+(1-wide)/2
		}
		s.from, s.to = math.Max(s.from, 0), math.Min(s.to, float64(pixels))
		out[i] = s
	}
	return out
}

// average is the mean colour of a rectangle.
func average(m *image.RGBA, xs, ys span) []byte {
	if xs.part == 0 || ys.part == 0 || xs.to <= xs.from || ys.to <= ys.from {
		return []byte{0, 0, 0, 0}
	}
	var sum [4]float64
	for y := int(ys.from); y < m.Rect.Dy() && float64(y) < ys.to; y++ {
		high := math.Min(ys.to, float64(y+1)) - math.Max(ys.from, float64(y))
		for x := int(xs.from); x < m.Rect.Dx() && float64(x) < xs.to; x++ {
			area := high * (math.Min(xs.to, float64(x+1)) - math.Max(xs.from, float64(x)))
			p := m.Pix[y*m.Stride+4*x:]
			for i := range sum {
				sum[i] += area * float64(p[i])
			}
		}
	}
	by := xs.part * ys.part / ((xs.to - xs.from) * (ys.to - ys.from))
	var out [4]byte
	for i := range out {
		out[i] = byte(math.Min(sum[i]*by+0.5, 255))
	}
	return out[:]
}
