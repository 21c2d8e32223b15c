package vt

// The size of a cell in pixels, as programs are told. Pictures of screens have
// cells of this shape, so that images are not stretched.
const (
	CellWidth  = 9
	CellHeight = 20
)

// An Image is a picture on the screen: a part of a PNG, scaled into a part of
// the cells that it takes.
type Image struct {
	ID            uint64 // the same for the same picture, placed in the same way
	PNG           []byte
	Width, Height int  // of the PNG
	Source        Rect // the part of it that is shown
	Box           Rect // where: in pixels, of which a cell has CellWidth by CellHeight, from the corner of the first cell
	Cols, Rows    int  // the cells that it takes
}

// Rect is a rectangle of pixels.
type Rect struct{ X, Y, W, H int }

// A Tile is neighbouring cells of a row that show neighbouring parts of an image.
type Tile struct {
	Col, Width int // in the row
	Image      *Image
	X, Y       int // the column and the row of the image that are in the first cell
}

// firstTile is the first content that is no cluster, but a part of the image of
// the cell's style: its cells are numbered row by row.
const firstTile = cellCluster | maxClusters

// maxTiles bounds the cells of an image: contents must not run out.
const maxTiles = int(cellCluster - maxClusters)

// tile reports whether the cell shows a part of an image.
func (c cell) tile() bool { return c&contentMask >= firstTile }

// tileNumber is which part that is.
func (c cell) tileNumber() int { return int(c&contentMask - firstTile) }

// Tiles returns what of images is in the row, from left to right.
func (r Row) Tiles() []Tile {
	if r.t.images == nil {
		return nil
	}
	var out []Tile
	var before *part
	for x, c := range r.l.cells() {
		img, n := r.t.imageAt(c)
		if !c.tile() && r.t.showsImage(c) {
			before = r.t.partOf(c, before)
			img, n = before.image(r.t.images)
		} else {
			before = nil
		}
		if img == nil {
			continue
		}
		tile := Tile{Col: x, Width: 1, Image: img, X: n % img.Cols, Y: n / img.Cols}
		if k := len(out) - 1; k >= 0 && out[k].goesOn(&tile) {
			out[k].Width++
			continue
		}
		out = append(out, tile)
	}
	return out
}

// goesOn reports whether next shows what is to the right of t.
func (t *Tile) goesOn(next *Tile) bool {
	return t.Image == next.Image && t.Col+t.Width == next.Col && t.X+t.Width == next.X && t.Y == next.Y
}

// imageAt returns the image that a cell shows a part of, and the number of the
// part; or nil.
func (t *Terminal) imageAt(c cell) (*Image, int) {
	p := t.placedAt(c)
	if p == nil || c.tileNumber() >= p.img.Cols*p.img.Rows {
		return nil, 0
	}
	return p.img, c.tileNumber()
}

// placedAt returns the image that a cell belongs to, or nil.
func (t *Terminal) placedAt(c cell) *placed {
	if !c.tile() || t.images == nil {
		return nil
	}
	p := t.images.placed[t.styles.list[c.style()].image()]
	if p == nil || p.img == nil {
		return nil
	}
	return p
}

// putTiles puts n cells of an image into a row, from column x on: those from a
// number on. They keep their background, or take one.
func (t *Terminal) putTiles(l *line, x, n int, image uint32, first int, bg func(cell) Color) {
	n = min(n, l.room()-x)
	if n <= 0 {
		return
	}
	t.splitAt(l, x)
	t.splitAt(l, x+n)
	if x+n == l.cols() {
		l.endChanged()
	}
	cells := l.edit()
	var last style
	var bits cell
	for i := range n {
		c := &cells[x+i]
		s := ofImage(image, bg(*c))
		if i == 0 || s != last {
			last, bits = s, cell(t.styleID(s))<<styleShift
		}
		*c = bits | firstTile + cell(first+i)
	}
	l.written(x, n, t.stamp)
}

// backgroundOf is the background of a cell.
func (t *Terminal) backgroundOf(c cell) Color { return t.styles.list[c.style()].bg }
