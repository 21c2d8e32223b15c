package render

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
)

// Picture is a screen drawn.
type Picture struct {
	Data          []byte
	Width, Height int
	Missing       []string // the numbers of characters that no font had, as U+1F680
}

// PNG draws a grid as a PNG: with a palette when it has at most 256 colours,
// which most screens have, else in true colours.
func (r *Renderer) PNG(g *Grid) (*Picture, error) {
	if err := r.checkSize(g); err != nil {
		return nil, err
	}
	w, h := r.Size(g.Cols, g.Rows)
	p := newPalette()
	small := r.paletted(w, h, p)
	z := newZlib(small.pix)
	paint(r, small, g, func(done int) {
		if len(p.colors) > 16 { // a byte a pixel: it is what is written
			z.ready(done * (small.head + small.w))
		}
	})
	var data []byte
	if !p.overflow {
		data = encodePaletted(small, p.colors, z)
	} else {
		z.drop()
		large := newCanvas(w, h, 0, trueColors{})
		paint(r, large, g, func(int) {})
		data = encodeTrueColor(large, r.bar > 0)
	}
	return &Picture{Data: data, Width: w, Height: h, Missing: r.missed(g)}, nil
}

// paletted returns an empty canvas: the one from the last time, if it fits.
func (r *Renderer) paletted(w, h int, p *palette) *canvas[uint8] {
	if c := r.canvas; c != nil && c.w == w && c.h == h {
		c.inks = p
		c.forgetInks()
		return c
	}
	r.canvas = newCanvas(w, h, 1, p)
	return r.canvas
}

// missed lists what is on g, and in its title, and was not drawn.
func (r *Renderer) missed(g *Grid) []string {
	if len(r.missing) == 0 {
		return nil
	}
	found := map[rune]bool{}
	note := func(text string) {
		for _, m := range r.missing[text] {
			found[m] = true
		}
	}
	for i := range g.Cells {
		if c := &g.Cells[i]; c.Rune > 0x7f || c.Cluster != "" {
			note(c.Text())
		}
	}
	if r.bar > 0 {
		for _, ch := range g.Title {
			note(string(ch))
		}
	}
	var names []string
	for _, m := range slices.Sorted(maps.Keys(found)) {
		names = append(names, fmt.Sprintf("U+%04X", m))
	}
	return names
}

// The colour types of PNG.
const (
	pngRGB      = 2
	pngPaletted = 3
	pngRGBA     = 6
)

// encodePaletted writes the rows as they are, which z has, or packed.
func encodePaletted(c *canvas[uint8], colors []Color, z *zlib) []byte {
	depth := 8
	for _, d := range []int{1, 2, 4} {
		if len(colors) <= 1<<d {
			depth = d
			break
		}
	}
	e := newPNGEncoder(c.w, c.h, depth, pngPaletted)
	var plte, trns []byte
	clear := false
	for _, c := range colors {
		r, g, b, a := c.RGBA()
		plte, trns = append(plte, r, g, b), append(trns, a)
		clear = clear || a < 255
	}
	e.chunk("PLTE", plte)
	if clear {
		e.chunk("tRNS", trns)
	}
	if depth == 8 {
		return e.finish(z)
	}
	line := 1 + (c.w*depth+7)/8
	raw := make([]byte, c.h*line)
	for y := range c.h {
		pack(raw[y*line+1:(y+1)*line], c.row(y, 0, c.w), depth)
	}
	return e.finish(newZlib(raw))
}

// pack puts as many pixels into a byte as fit, the first into the high bits.
func pack(dst, src []uint8, depth int) {
	switch depth {
	case 4:
		n := len(src) / 2
		for i := range n {
			dst[i] = src[2*i]<<4 | src[2*i+1]
		}
		if len(src)%2 == 1 {
			dst[n] = src[2*n] << 4
		}
	default:
		per := 8 / depth
		for i, v := range src {
			dst[i/per] |= v << (8 - depth - i%per*depth)
		}
	}
}

func encodeTrueColor(c *canvas[uint32], alpha bool) []byte {
	kind, size := pngRGB, 3
	if alpha {
		kind, size = pngRGBA, 4
	}
	e := newPNGEncoder(c.w, c.h, 8, kind)
	raw := make([]byte, c.h*(1+size*c.w))
	at := 0
	for y := range c.h {
		at++ // the filter
		for _, v := range c.row(y, 0, c.w) {
			p := raw[at : at+size]
			p[0], p[1], p[2] = byte(v>>16), byte(v>>8), byte(v)
			if alpha {
				p[3] = byte(v >> 24)
			}
			at += size
		}
	}
	return e.finish(newZlib(raw))
}

// pngEncoder writes the chunks of a PNG. Rows are not filtered: screens are
// flat colours, which compress well as they are.
type pngEncoder struct{ out bytes.Buffer }

func newPNGEncoder(w, h, depth, kind int) *pngEncoder {
	e := &pngEncoder{}
	e.out.WriteString("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	e.chunk("IHDR", append(head, byte(depth), byte(kind), 0, 0, 0))
	return e
}

func (e *pngEncoder) chunk(name string, pieces ...[]byte) {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	e.out.Grow(n + 32) // with the end's chunk
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	e.out.Write(b[:])
	e.out.WriteString(name)
	sum := crc32.ChecksumIEEE([]byte(name))
	for _, p := range pieces {
		e.out.Write(p)
		sum = crc32.Update(sum, crc32.IEEETable, p)
	}
	binary.BigEndian.PutUint32(b[:], sum)
	e.out.Write(b[:])
}

// finish writes the rows, each behind its filter byte, and ends the file.
func (e *pngEncoder) finish(rows *zlib) []byte {
	e.chunk("IDAT", rows.finish()...)
	e.chunk("IEND", nil)
	return e.out.Bytes()
}
