package vt

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// Bounds of the images that a terminal keeps. Those that no cell shows go first,
// then the oldest.
const (
	maxImageBytes = 4 << 20 // of PNGs
	maxPlaced     = 1 << 14
	maxImageRows  = MaxRows // of cells
)

// images is what a terminal keeps of images. A terminal without any has none.
type images struct {
	pictures []*picture // oldest first
	bytes    int        // of their PNGs
	placed   []*placed  // by number; 0 is not used, nil is free
	clock    uint64     // the age of the newest
	named    []named    // oldest first
	virtual  []virtual
	upload   *upload // the image that is coming, or nil
	spared   int     // images refused since the last sweep found no place

	// What no cell shows yet.
	picture *picture // or nil
	number  uint32   // or 0
}

// placed is an image at a place on the screen: cells refer to it by its number,
// in their style.
type placed struct {
	pic *picture
	img *Image // or nil: it was deleted, and its cells show nothing
	age uint64

	// How kitty's protocol names it; 0 = not at all.
	id, place uint32
	z         int32
}

// keptImages returns the terminal's images, for one to be added.
func (t *Terminal) keptImages() *images {
	if t.images == nil {
		t.images = &images{placed: []*placed{nil}}
	}
	return t.images
}

func (m *images) tick() uint64 {
	m.clock++
	return m.clock
}

// keepPicture adds a picture, and reports whether there is room for it.
func (t *Terminal) keepPicture(p *picture) bool {
	if p == nil || len(p.png) > maxImageBytes {
		return false
	}
	m := t.keptImages()
	if m.bytes+len(p.png) > maxImageBytes {
		t.makeImageRoom(len(p.png))
	}
	p.age = m.tick()
	m.pictures = append(m.pictures, p)
	m.bytes += len(p.png)
	m.picture = p
	return true
}

// makeImageRoom drops pictures until there is room for so many bytes. More go
// than must, so that the screen is not searched for each.
func (t *Terminal) makeImageRoom(n int) {
	t.sweep()
	m := t.images
	want := min(maxImageBytes-n, maxImageBytes*3/4)
	for m.bytes > want && len(m.pictures) > 0 {
		m.drop(m.oldest())
	}
}

// oldest is the picture to be dropped next.
func (m *images) oldest() *picture {
	shown := map[*picture]bool{}
	for _, p := range m.placed {
		if p != nil && p.img != nil {
			shown[p.pic] = true
		}
	}
	for i := range m.virtual {
		shown[m.virtual[i].pic] = true
	}
	for _, p := range m.pictures {
		if !shown[p] {
			return p
		}
	}
	return m.pictures[0]
}

// drop forgets a picture, wherever it is shown.
func (m *images) drop(pic *picture) {
	for _, p := range m.placed {
		if p != nil && p.pic == pic {
			p.delete()
		}
	}
	m.named = slices.DeleteFunc(m.named, func(n named) bool { return n.pic == pic })
	m.virtual = slices.DeleteFunc(m.virtual, func(v virtual) bool { return v.pic == pic })
	m.forget(func(p *picture) bool { return p == pic })
}

// forget drops pictures that nothing refers to.
func (m *images) forget(which func(*picture) bool) {
	m.pictures = slices.DeleteFunc(m.pictures, func(p *picture) bool {
		if !which(p) {
			return false
		}
		m.bytes -= len(p.png)
		return true
	})
}

// delete makes the cells of an image show nothing.
func (p *placed) delete() { p.pic, p.img = nil, nil }

// place adds an image, and returns the number for its cells; 0 if there is no
// room for it.
func (t *Terminal) place(p placed) uint32 {
	m := t.keptImages()
	n := slices.Index(m.placed[1:], nil) + 1
	if n == 0 && len(m.placed) > maxPlaced {
		if m.spared > 0 {
			m.spared--
			return 0
		}
		t.sweep()
		if n = slices.Index(m.placed[1:], nil) + 1; n == 0 && len(m.placed) > maxPlaced {
			m.spared = maxPlaced / 4
			return 0
		}
	}
	if n == 0 {
		n = len(m.placed)
		m.placed = append(m.placed, nil)
	}
	p.age = m.tick()
	m.placed[n], m.number = &p, uint32(n)
	return m.number
}

// sweepImages frees the images whose numbers no style has.
func (t *Terminal) sweepImages(live []bool) {
	m := t.images
	if m == nil || t.restore.open { // cells are still to come
		return
	}
	for n := 1; n < len(m.placed); n++ {
		if !live[n] && m.number != uint32(n) {
			m.placed[n] = nil
		}
	}
	for len(m.placed) > 1 && m.placed[len(m.placed)-1] == nil {
		m.placed = m.placed[:len(m.placed)-1]
	}
	used := map[*picture]bool{m.picture: true}
	for _, p := range m.placed {
		if p != nil {
			used[p.pic] = true
		}
	}
	for _, n := range m.named {
		used[n.pic] = true
	}
	for _, v := range m.virtual {
		used[v.pic] = true
	}
	m.forget(func(pic *picture) bool { return !used[pic] })
}

// release notes that nothing is kept but for what cells show.
func (m *images) release() {
	if m != nil {
		m.picture, m.number = nil, 0
	}
}

// newImage describes a picture at its place.
func newImage(pic *picture, source, box Rect, cols, rows int) *Image {
	h := fnv.New64a()
	binary.Write(h, binary.BigEndian, []int64{
		int64(pic.sum), int64(source.X), int64(source.Y), int64(source.W), int64(source.H),
		int64(box.X), int64(box.Y), int64(box.W), int64(box.H), int64(cols), int64(rows),
	}) // A hash takes everything.
	return &Image{ID: h.Sum64(), PNG: pic.png, Width: pic.w, Height: pic.h, Source: source, Box: box, Cols: cols, Rows: rows}
}

// show draws an image at the cursor and below it. Where it is told to, the
// screen scrolls to make room; else what does not fit is not drawn. The cursor
// is left in the last row that was drawn.
func (t *Terminal) show(number uint32, img *Image, bg func(cell) Color, scrolls bool) {
	x := t.cur.x
	t.cur.pending = false
	t.forgetLast()
	for row := range img.Rows {
		if row > 0 && !t.stepDown(scrolls) {
			break
		}
		t.putTiles(t.row(t.cur.y), x, min(img.Cols, t.lineEnd()-x), number, row*img.Cols, bg)
	}
}

// stepDown moves the cursor down, and reports whether it could.
func (t *Terminal) stepDown(scrolls bool) bool {
	m := &t.margins
	switch atMargin := t.cur.y == m.bottom; {
	case t.cur.y == t.rows-1 && !(atMargin && scrolls), atMargin && (!scrolls || t.cur.x < m.left || t.cur.x > m.right):
		return false
	}
	t.lineFeed()
	return true
}
