package vt

import (
	"bytes"
	"encoding/base64"
	"slices"
)

// maxDumpPiece bounds the bytes of a picture in one string of a dump.
const maxDumpPiece = 512 << 10

// restoredImages is what a dump has said of images, by the numbers that it uses.
type restoredImages struct {
	pictures []*picture
	partial  []byte   // of the picture at hand
	placed   []uint32 // the terminal's numbers
}

// images writes the pictures that cells show, oldest first, and how they are
// placed. Cells name the placement by its place in this list, from 1 on; 0 is a
// deleted one.
func (d *dumper) images() {
	m := d.t.images
	if m == nil {
		return
	}
	d.t.sweep() // what no cell shows is left out
	number := map[*picture]int{}
	for i, pic := range m.pictures {
		number[pic] = i
		for rest := pic.png; ; {
			piece := rest[:min(len(rest), maxDumpPiece)]
			rest = rest[len(piece):]
			d.addf("\x1b_den;picture;%d;%s\x1b\\", min(len(rest), 1), base64.StdEncoding.EncodeToString(piece))
			if len(rest) == 0 {
				break
			}
		}
	}
	d.placed = map[uint32]int{}
	for _, n := range m.byAge() {
		if p := m.placed[n]; p.img != nil {
			d.placed[n] = len(d.placed) + 1
			s, b := p.img.Source, p.img.Box
			d.addf("\x1b_den;place;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d\x1b\\", number[p.pic], s.X, s.Y, s.W, s.H, b.X, b.Y, b.W, b.H, p.img.Cols, p.img.Rows)
		}
	}
}

// byAge returns the numbers of all images, oldest first.
func (m *images) byAge() []uint32 {
	var out []uint32
	for n, p := range m.placed {
		if p != nil {
			out = append(out, uint32(n))
		}
	}
	slices.SortFunc(out, func(a, b uint32) int { return int(int64(m.placed[a].age) - int64(m.placed[b].age)) })
	return out
}

// tiles draws the cells of an image that begin at column x, and returns how many
// they are. Other terminals see blanks. The reader's cursor stays at x.
func (d *dumper) tiles(l *line, x, to int) int {
	t, c := d.t, l.cells[x]
	n := 1
	for x+n < l.sameStamp(x, to) && l.cells[x+n] == c+cell(n) {
		n++
	}
	d.join = joinNone
	d.setPen(pen{style: style{bg: t.backgroundOf(c)}})
	d.addf("\x1b_den;tiles;%d;%d;%d\x1b\\", d.placed[t.styles.list[c.style()].image], c.tileNumber(), n)
	return n
}

// privatePicture takes a piece of a picture.
func (t *Terminal) privatePicture(args [][]byte) {
	more, ok := number(args, 0, 10)
	r := &t.restore.images
	if !ok || len(args) != 2 || len(r.partial) > maxImageBytes {
		return
	}
	data, err := base64.StdEncoding.DecodeString(string(args[1]))
	if err != nil {
		return
	}
	if r.partial = append(r.partial, data...); more != 0 {
		return
	}
	pic := readPNG(bytes.Clone(r.partial))
	r.partial = nil
	if t.keepPicture(pic) {
		r.pictures = append(r.pictures, pic)
	} else {
		r.pictures = append(r.pictures, nil)
	}
}

// privatePlace takes an image at its place.
func (t *Terminal) privatePlace(args [][]byte) {
	var v [11]int
	for i := range v {
		n, ok := number(args, i, 10)
		if !ok || n > maxParam*CellHeight {
			return
		}
		v[i] = int(n)
	}
	r := &t.restore.images
	if v[0] >= len(r.pictures) || len(r.placed) >= maxPlaced {
		return
	}
	source, box := Rect{v[1], v[2], v[3], v[4]}, Rect{v[5], v[6], v[7], v[8]}
	cols, rows := v[9], v[10]
	pic, n := r.pictures[v[0]], uint32(0)
	if pic != nil && source.X+source.W <= pic.w && source.Y+source.H <= pic.h && source.W > 0 && source.H > 0 &&
		box.W > 0 && box.H > 0 && cols > 0 && rows > 0 && cols*rows <= maxTiles {
		n = t.place(placed{pic: pic, img: newImage(pic, source, box, cols, rows)})
	}
	r.placed = append(r.placed, n)
}

// privateTiles puts cells of an image at the cursor, on the current background.
func (t *Terminal) privateTiles(args [][]byte) {
	place, ok1 := number(args, 0, 10)
	first, ok2 := number(args, 1, 10)
	n, ok3 := number(args, 2, 10)
	if !ok1 || !ok2 || !ok3 || n > uint64(t.cols) || first > uint64(maxTiles)-n {
		return
	}
	image := uint32(0)
	if r := &t.restore.images; place > 0 && place <= uint64(len(r.placed)) {
		image = r.placed[place-1]
	}
	bg := t.cur.pen.style.bg
	t.putTiles(t.row(t.cur.y), t.cur.x, int(n), image, int(first), func(cell) Color { return bg })
	t.forgetLast()
}
