package vt

import "slices"

// named is an image that a program can show by its id, or by a number.
type named struct {
	id, number uint32
	pic        *picture
}

// virtual is an image that placeholders show: see placeholder.go.
type virtual struct {
	id, place uint32
	pic       *picture
	img       *Image
}

// byID returns the image with an id, or nil.
func (m *images) byID(id uint32) *named {
	if m == nil {
		return nil
	}
	for i := range m.named {
		if m.named[i].id == id {
			return &m.named[i]
		}
	}
	return nil
}

// numbered returns the newest image with a number, or nil.
func (m *images) numbered(number uint32) *named {
	if m == nil {
		return nil
	}
	for i := len(m.named) - 1; i >= 0; i-- {
		if m.named[i].number == number {
			return &m.named[i]
		}
	}
	return nil
}

// deleteName forgets an id. What is shown stays.
func (m *images) deleteName(id uint32) {
	m.named = slices.DeleteFunc(m.named, func(n named) bool { return n.id == id })
}

// deletePlaces makes an image vanish from where it is shown: everywhere, or with
// one place's id.
func (m *images) deletePlaces(id, place uint32) {
	for _, p := range m.placed {
		if p != nil && p.img != nil && p.id == id && (place == 0 || p.place == place) {
			p.delete()
		}
	}
	m.virtual = slices.DeleteFunc(m.virtual, func(v virtual) bool { return v.id == id && (place == 0 || v.place == place) })
}

// deleteNamed forgets an image, and makes it vanish.
func (m *images) deleteNamed(id uint32) {
	if m != nil {
		m.deletePlaces(id, 0)
		m.deleteName(id)
	}
}

// putNamed shows an image that the terminal has.
func (t *Terminal) putNamed(c graphicsCommand) {
	n := t.images.byID(c.id('i'))
	if c.id('i') == 0 && c.id('I') != 0 {
		n = t.images.numbered(c.id('I'))
	}
	if n == nil {
		t.answerGraphics(c, c.id('i'), problemUnknown)
		return
	}
	id, pic := n.id, n.pic
	t.answerGraphics(c, id, t.putImage(c, id, pic))
}

// putImage shows an image at the cursor, or notes how placeholders show it.
func (t *Terminal) putImage(c graphicsCommand, id uint32, pic *picture) graphicsProblem {
	if c['P'] != "" || c['Q'] != "" {
		return problemRelative
	}
	img := c.image(pic)
	if img == nil {
		return problemPlace
	}
	m, place := t.images, c.id('p')
	if id != 0 && place != 0 {
		m.deletePlaces(id, place)
	}
	if c.number('U') == 1 {
		return m.putVirtual(virtual{id: id, place: place, pic: pic, img: fitted(pic, img)})
	}
	n := t.place(placed{pic: pic, img: img, id: id, place: place, z: c.z()})
	defer m.release()
	if n == 0 {
		return problemRoom
	}
	was := t.cur
	if c.number('C') == 1 {
		t.show(n, img, t.backgroundOf, false)
		t.cur.x, t.cur.y, t.cur.pending = was.x, was.y, was.pending
		return graphicsOK
	}
	t.show(n, img, t.backgroundOf, true)
	if t.cur.x += img.Cols; t.cur.x >= t.lineEndFrom(was.x) {
		t.cur.x = was.x
		t.carriageReturn()
		t.lineFeed()
	}
	return graphicsOK
}

// lineEndFrom is the end of the line for text that began at a column.
func (t *Terminal) lineEndFrom(x int) int {
	now := t.cur.x
	t.cur.x = x
	end := t.lineEnd()
	t.cur.x = now
	return end
}

// image works out which part of a picture is shown, how large, and in how many
// cells; nil if that is none.
func (c graphicsCommand) image(pic *picture) *Image {
	s := Rect{X: c.number('x'), Y: c.number('y'), W: c.number('w'), H: c.number('h')}
	if s.X >= pic.w || s.Y >= pic.h {
		return nil
	}
	s.W, s.H = upTo(s.W, pic.w-s.X), upTo(s.H, pic.h-s.Y)
	box := Rect{X: min(c.number('X'), CellWidth-1), Y: min(c.number('Y'), CellHeight-1), W: s.W, H: s.H}
	cols, rows := c.number('c'), c.number('r')
	if cols > MaxCols || rows > maxImageRows {
		return nil
	}
	switch {
	case cols > 0 && rows > 0:
		box = Rect{W: cols * CellWidth, H: rows * CellHeight}
	case cols > 0:
		box.X, box.W = 0, cols*CellWidth
		box.H = max(1, box.W*s.H/s.W)
	case rows > 0:
		box.Y, box.H = 0, rows*CellHeight
		box.W = max(1, box.H*s.W/s.H)
	}
	if cols, rows = cellsOf(box); cols > MaxCols || rows > maxImageRows {
		return nil
	}
	return newImage(pic, s, box, cols, rows)
}

// upTo is n, or most if n is none or larger.
func upTo(n, most int) int {
	if n == 0 || n > most {
		return most
	}
	return n
}

// deleteImages obeys a delete command. In capitals it also frees what it deletes.
func (t *Terminal) deleteImages(c graphicsCommand) {
	m := t.images
	if m == nil {
		return
	}
	what := byte('a')
	if d := c['d']; d != "" {
		what = d[0]
	}
	frees := what >= 'A' && what <= 'Z'
	var ids []uint32
	switch what | 0x20 {
	case 'i':
		ids = []uint32{c.id('i')}
	case 'n':
		if n := m.numbered(c.id('I')); n != nil {
			ids = []uint32{n.id}
		}
	case 'r':
		for _, n := range m.named {
			if n.id >= c.id('x') && n.id <= c.id('y') {
				ids = append(ids, n.id)
			}
		}
	default:
		t.deleteShown(c, what|0x20, frees)
		return
	}
	for _, id := range ids {
		if id == 0 {
			continue
		}
		if m.deletePlaces(id, c.id('p')); frees {
			m.deleteName(id)
		}
	}
}

// deleteShown deletes images by where they are on the screen.
func (t *Terminal) deleteShown(c graphicsCommand, what byte, frees bool) {
	left, right, top, bottom := 0, t.cols, 0, t.rows
	x, y := c.number('x')-1, c.number('y')-1
	switch what {
	case 'a', 'z':
	case 'c':
		left, right, top, bottom = t.cur.x, t.cur.x+1, t.cur.y, t.cur.y+1
	case 'p', 'q':
		left, right, top, bottom = x, x+1, y, y+1
	case 'x':
		left, right = x, x+1
	case 'y':
		top, bottom = y, y+1
	default:
		return
	}
	for row := max(top, 0); row < min(bottom, t.rows); row++ {
		for col := max(left, 0); col < min(right, t.cols); col++ {
			p := t.placedAt(t.row(row).cells()[col])
			if p == nil || (what == 'z' || what == 'q') && p.z != c.z() {
				continue
			}
			if p.delete(); frees && p.id != 0 {
				t.images.deleteName(p.id)
			}
		}
	}
}
