package vt

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
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
			d.addf("\x1b_den;place;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d\x1b\\", number[p.pic], s.X, s.Y, s.W, s.H, b.X, b.Y, b.W, b.H, p.img.Cols, p.img.Rows, p.id, p.place, p.z)
		}
	}
	for _, n := range m.named {
		d.addf("\x1b_den;image;%d;%d;%d\x1b\\", number[n.pic], n.id, n.number)
	}
	for _, v := range m.virtual {
		s, b := v.img.Source, v.img.Box
		d.addf("\x1b_den;virtual;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d;%d\x1b\\", number[v.pic], s.X, s.Y, s.W, s.H, b.X, b.Y, b.W, b.H, v.img.Cols, v.img.Rows, v.id, v.place)
	}
	d.upload(m.upload)
}

// upload writes the image that is coming.
func (d *dumper) upload(u *upload) {
	if u == nil {
		return
	}
	long := 0
	if u.long {
		long = 1
	}
	for rest := u.data; ; {
		piece := rest[:min(len(rest), maxDumpPiece)]
		rest = rest[len(piece):]
		d.addf("\x1b_den;upload;%d;%x;%s\x1b\\", long, u.control, base64.StdEncoding.EncodeToString(piece))
		if len(rest) == 0 {
			return
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
	t, c := d.t, l.cells()[x]
	n := 1
	for x+n < l.sameStamp(x, to) && l.cells()[x+n] == c+cell(n) {
		n++
	}
	d.join = joinNone
	d.setPen(pen{style: style{bg: t.backgroundOf(c)}})
	d.addf("\x1b_den;tiles;%d;%d;%d\x1b\\", d.placed[t.styles.list[c.style()].image()], c.tileNumber(), n)
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

// privateImage reads a picture's number, and how it is shown; nil for none.
func (t *Terminal) privateImage(args [][]byte) (*picture, *Image) {
	var v [11]int
	for i := range v {
		n, ok := number(args, i, 10)
		if !ok || n > maxParam*CellHeight {
			return nil, nil
		}
		v[i] = int(n)
	}
	r := &t.restore.images
	if v[0] >= len(r.pictures) || r.pictures[v[0]] == nil {
		return nil, nil
	}
	pic, cols, rows := r.pictures[v[0]], v[9], v[10]
	source, box := Rect{v[1], v[2], v[3], v[4]}, Rect{v[5], v[6], v[7], v[8]}
	if source.X+source.W > pic.w || source.Y+source.H > pic.h || source.W == 0 || source.H == 0 ||
		box.W == 0 || box.H == 0 || cols == 0 || rows == 0 || cols*rows > maxTiles {
		return nil, nil
	}
	return pic, newImage(pic, source, box, cols, rows)
}

// privatePlace takes an image at its place.
func (t *Terminal) privatePlace(args [][]byte) {
	r := &t.restore.images
	if len(r.placed) >= maxPlaced {
		return
	}
	n := uint32(0)
	if pic, img := t.privateImage(args); img != nil && len(args) == 14 {
		p := placed{pic: pic, img: img}
		p.id, p.place = id32(args, 11), id32(args, 12)
		z, _ := strconv.ParseInt(string(args[13]), 10, 32) // 0 is a layer, too
		p.z = int32(z)
		n = t.place(p)
	}
	r.placed = append(r.placed, n)
}

// id32 is an id, or 0.
func id32(args [][]byte, i int) uint32 {
	if n, ok := number(args, i, 10); ok && n < 1<<32 {
		return uint32(n)
	}
	return 0
}

// privateName takes the id of a picture.
func (t *Terminal) privateName(args [][]byte) {
	n, ok := number(args, 0, 10)
	r, id := &t.restore.images, id32(args, 1)
	if !ok || n >= uint64(len(r.pictures)) || r.pictures[n] == nil || id == 0 || t.images.byID(id) != nil || len(t.images.named) >= maxNamed {
		return
	}
	t.images.named = append(t.images.named, named{id: id, number: id32(args, 2), pic: r.pictures[n]})
}

// privateVirtual takes an image for placeholders.
func (t *Terminal) privateVirtual(args [][]byte) {
	if pic, img := t.privateImage(args); img != nil {
		t.images.putVirtual(virtual{id: id32(args, 11), place: id32(args, 12), pic: pic, img: img})
	}
}

// privateUpload takes data of the image that is coming.
func (t *Terminal) privateUpload(args [][]byte) {
	long, ok := number(args, 0, 10)
	if !ok || len(args) != 3 {
		return
	}
	control, err := hex.DecodeString(string(args[1]))
	if err != nil || len(control) > maxGraphicsControl || bytes.ContainsRune(control, ';') {
		return
	}
	m := t.keptImages()
	if m.upload == nil || !bytes.Equal(m.upload.control, control) {
		m.upload = &upload{control: control, long: long == 1}
	}
	m.upload.add(args[2])
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
