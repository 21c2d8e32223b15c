package render

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"den/internal/screen/vt"
)

// svgImages are the images of one SVG, each of which is in it once.
type svgImages struct {
	list   []*vt.Image
	number map[*vt.Image]int
}

func (d *svgImages) add(img *vt.Image) int {
	n, ok := d.number[img]
	if !ok {
		if d.number == nil {
			d.number = map[*vt.Image]int{}
		}
		n = len(d.list)
		d.number[img] = n
		d.list = append(d.list, img)
	}
	return n
}

func (d *svgImages) write(out *bytes.Buffer) {
	if len(d.list) == 0 {
		return
	}
	out.WriteString("<defs>\n")
	for n, img := range d.list {
		fmt.Fprintf(out, `<image id="i%d" width="%d" height="%d" href="data:image/png;base64,%s"/>`+"\n",
			n, img.Width, img.Height, base64.StdEncoding.EncodeToString(img.PNG))
	}
	out.WriteString("</defs>\n")
}

// tiles draws what a row shows of images. Neighbours in a row are drawn at once,
// and those below them too, if the row is of single size: viewers leave fine
// lines between pictures that touch.
func (s *svg) tiles(cells []Cell, y int) {
	goesOn := func(a, b int) bool {
		p, q := &cells[a], &cells[b]
		return p.Image != nil && p.Image == q.Image && q.Tile == tile{p.Tile.x + int32(b-a), p.Tile.y}
	}
	eachRun(len(cells), goesOn, func(from, to int) {
		if cells[from].Image == nil || s.showsOn(y, from, to) {
			return // nothing, or drawn with the row above
		}
		rows := 1
		for s.showsOn(y+rows, from, to) {
			rows++
		}
		s.image(cells[from].Image, cells[from].Tile, from, y, to-from, rows)
	})
}

// showsOn reports whether row y shows in these columns what is below what the
// row above shows in them, and nothing of the image beside them.
func (s *svg) showsOn(y, from, to int) bool {
	if y <= 0 || y >= s.g.Rows || s.g.size(y) != vt.SingleSize || s.g.size(y-1) != vt.SingleSize {
		return false
	}
	above, row := s.g.Row(y-1), s.g.Row(y)
	for x := from; x < to; x++ {
		p, q := &above[x], &row[x]
		if p.Image == nil || p.Image != q.Image || q.Tile != (tile{p.Tile.x, p.Tile.y + 1}) {
			return false
		}
	}
	beside := func(cells []Cell, x int, first *Cell, by int32) bool {
		return x >= 0 && x < len(cells) && cells[x].Image == first.Image && cells[x].Tile == tile{first.Tile.x + by, first.Tile.y}
	}
	for _, cells := range [][]Cell{above, row} {
		if beside(cells, from-1, &cells[from], -1) || beside(cells, to, &cells[to-1], 1) {
			return false
		}
	}
	return true
}

// image draws a rectangle of an image's cells, the first of which is in column x
// of row y: a picture in the picture, which is cut to it.
func (s *svg) image(img *vt.Image, first tile, x, y, cols, rows int) {
	if s.r.pictures.of(img) == nil {
		return // it cannot be decoded
	}
	// The part of the rectangle that the picture covers, from the image's corner on.
	x0, x1 := max(int(first.x)*vt.CellWidth, img.Box.X), min((int(first.x)+cols)*vt.CellWidth, img.Box.X+img.Box.W)
	y0, y1 := max(int(first.y)*vt.CellHeight, img.Box.Y), min((int(first.y)+rows)*vt.CellHeight, img.Box.Y+img.Box.H)
	if x0 >= x1 || y0 >= y1 {
		return
	}
	perX, perY := float64(s.r.cellW)/vt.CellWidth, float64(s.r.cellH)/vt.CellHeight
	left := float64(s.left(x)) + float64(x0-int(first.x)*vt.CellWidth)*perX
	top := float64(s.top(y)) + float64(y0-int(first.y)*vt.CellHeight)*perY
	sx, sy := float64(img.Source.W)/float64(img.Box.W), float64(img.Source.H)/float64(img.Box.H)
	fmt.Fprintf(&s.out, `<svg x="%s" y="%s" width="%s" height="%s" viewBox="%s %s %s %s" preserveAspectRatio="none"><use href="#i%d"/></svg>`+"\n",
		number(left), number(top), number(float64(x1-x0)*perX), number(float64(y1-y0)*perY),
		number(float64(img.Source.X)+float64(x0-img.Box.X)*sx), number(float64(img.Source.Y)+float64(y0-img.Box.Y)*sy),
		number(float64(x1-x0)*sx), number(float64(y1-y0)*sy), s.defs.add(img))
}
