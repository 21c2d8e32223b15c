package vt

import (
	"image"
	"image/color"
)

// sixelRegisters is the number of colours that a sixel image can define at a
// time.
const sixelRegisters = 1024

// sixelColors are the first registers' colours before a program defines them,
// as on a VT340, in percent.
var sixelColors = [16][3]int{
	{0, 0, 0}, {20, 20, 80}, {80, 13, 13}, {20, 80, 20}, {80, 20, 80}, {20, 80, 80}, {80, 80, 20}, {53, 53, 53},
	{26, 26, 26}, {33, 33, 60}, {60, 26, 26}, {33, 60, 33}, {60, 33, 60}, {33, 60, 60}, {60, 60, 33}, {80, 80, 80},
}

// dispatchSixel draws a sixel image.
func (t *Terminal) dispatchSixel(text []byte) {
	t.note(Note{Kind: NoteImage, Text: "sixel"})
	p := &t.parser.params
	d := newSixelReader(p.get(0, 0))
	d.read(text)
	w, h := d.size()
	box := Rect{W: w, H: h * d.tall}
	cols, rows := cellsOf(box)
	if cols*rows > maxTiles || rows > maxImageRows {
		return
	}
	pic := d.picture(w, h)
	if !t.keepPicture(pic) {
		return
	}
	defer t.images.release()
	img := newImage(pic, Rect{W: w, H: h}, box, cols, rows)
	if n := t.place(placed{pic: pic, img: img}); n > 0 {
		t.showSixel(n, img, p.get(1, 0) == 1)
	}
}

// cellsOf returns how many cells a box takes.
func cellsOf(box Rect) (cols, rows int) {
	return (box.X + box.W + CellWidth - 1) / CellWidth, (box.Y + box.H + CellHeight - 1) / CellHeight
}

// showSixel puts an image on the screen. Where it has no pixels, it shows the
// background that is set, or, if it is transparent, the one that is there.
func (t *Terminal) showSixel(number uint32, img *Image, transparent bool) {
	bg := t.backgroundOf
	if !transparent {
		pen := t.cur.pen.style.bg
		bg = func(cell) Color { return pen }
	}
	was := t.cur
	if t.modes.has(modeSixelDisplay) {
		t.cur.x, t.cur.y = 0, 0
		t.show(number, img, bg, false)
		t.cur.x, t.cur.y, t.cur.pending = was.x, was.y, was.pending
		return
	}
	t.show(number, img, bg, true)
	if t.modes.has(modeSixelRight) {
		t.cur.x = min(t.cur.x+img.Cols, t.lineEnd()-1)
	}
}

// sixelReader draws the data of a sixel image.
type sixelReader struct {
	tall      int // the height of a pixel, in its widths
	registers [sixelRegisters]uint32
	color     uint32 // 0xAARRGGBB
	x, y      int    // of the next six pixels
	w, h      int    // that were drawn
	declared  [2]int // width and height that the image said it has
	rows      [][]uint32
	pixels    int // that rows have room for
}

func newSixelReader(aspect int) *sixelReader {
	d := &sixelReader{tall: 2, color: 0xff000000}
	switch aspect {
	case 2:
		d.tall = 5
	case 3, 4:
		d.tall = 3
	case 7, 8, 9:
		d.tall = 1
	}
	for i := range d.registers {
		d.registers[i] = 0xff000000
		if i < len(sixelColors) {
			c := sixelColors[i]
			d.registers[i] = percentRGB(c[0], c[1], c[2])
		}
	}
	d.color = d.registers[0]
	return d
}

// read draws all of the data.
func (d *sixelReader) read(text []byte) {
	for i := 0; i < len(text); {
		b := text[i]
		i++
		switch {
		case b >= '?' && b <= '~':
			d.draw(b-'?', 1)
		case b == '$':
			d.x = 0
		case b == '-':
			d.x, d.y = 0, min(d.y+6, maxSide)
		case b == '#' || b == '!' || b == '"':
			var args [5]int
			n, used := sixelNumbers(text[i:], args[:])
			i += used
			switch b {
			case '#':
				d.setColor(args[:n])
			case '"':
				d.raster(args[:n])
			default:
				if i < len(text) && text[i] >= '?' && text[i] <= '~' {
					d.draw(text[i]-'?', max(args[0], 1))
					i++
				}
			}
		}
	}
}

// sixelNumbers reads numbers divided by semicolons. It returns how many there
// are, and the bytes that they take; those that have no room in args are lost.
func sixelNumbers(text []byte, args []int) (n, used int) {
	seen := false
	for ; used < len(text); used++ {
		switch b := text[used]; {
		case b >= '0' && b <= '9':
			if !seen {
				seen = true
				n++
			}
			if n <= len(args) {
				args[n-1] = min(args[n-1]*10+int(b-'0'), maxParam)
			}
		case b == ';':
			if !seen {
				n++
			}
			seen = false
		default:
			return min(n, len(args)), used
		}
	}
	return min(n, len(args)), used
}

// raster is the command that says the shape of pixels and the image's size.
func (d *sixelReader) raster(args []int) {
	if len(args) >= 2 && args[0] > 0 && args[1] > 0 {
		d.tall = min(max((args[0]+args[1]/2)/args[1], 1), 10)
	}
	if len(args) >= 4 && len(d.rows) == 0 {
		d.declared = [2]int{min(args[2], maxSide), min(args[3], maxSide)}
	}
}

// setColor chooses a register, and defines it where it has more numbers.
func (d *sixelReader) setColor(args []int) {
	if len(args) == 0 || args[0] >= sixelRegisters {
		return
	}
	register := &d.registers[args[0]]
	if len(args) == 5 {
		switch args[1] {
		case 1:
			*register = hlsRGB(args[2], args[3], args[4])
		case 2:
			*register = percentRGB(args[2], args[3], args[4])
		}
	}
	d.color = *register
}

// draw draws six pixels, one above the other, n times.
func (d *sixelReader) draw(bits byte, n int) {
	from := min(d.x, maxSide)
	d.x = min(d.x+n, maxSide)
	if bits == 0 {
		return
	}
	for i := range 6 {
		if bits>>i&1 == 0 || d.y+i >= maxSide {
			continue
		}
		row := d.row(d.y+i, d.x)
		if from >= len(row) {
			continue
		}
		row = row[from:]
		for x := range row {
			row[x] = d.color
		}
		d.w, d.h = max(d.w, from+len(row)), max(d.h, d.y+i+1)
	}
}

// row returns the first n pixels of row y, or fewer if the image has too many.
func (d *sixelReader) row(y, n int) []uint32 {
	for len(d.rows) <= y {
		d.rows = append(d.rows, nil)
	}
	row := d.rows[y]
	if n > len(row) {
		room := min(max(n, 2*len(row), d.declared[0]), maxSide, len(row)+maxPixels-d.pixels)
		d.pixels += room - len(row)
		larger := make([]uint32, room)
		copy(larger, row)
		row = larger
		d.rows[y] = row
	}
	return row[:min(n, len(row))]
}

// size is that of the image, cut to what one may have.
func (d *sixelReader) size() (w, h int) {
	w, h = max(d.w, d.declared[0]), max(d.h, d.declared[1])
	if w == 0 || h == 0 {
		return 0, 0
	}
	return w, min(h, maxPixels/w)
}

// picture encodes the image: with a palette, if it has few colours.
func (d *sixelReader) picture(w, h int) *picture {
	if !fitsPicture(w, h) {
		return nil
	}
	if m := d.paletted(w, h); m != nil {
		return newPicture(m)
	}
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	d.each(w, h, func(i int, v uint32) bool {
		m.Pix[4*i], m.Pix[4*i+1], m.Pix[4*i+2], m.Pix[4*i+3] = byte(v>>16), byte(v>>8), byte(v), byte(v>>24)
		return true
	})
	return newPicture(m)
}

// paletted returns the image with a palette, or nil if it has too many colours.
func (d *sixelReader) paletted(w, h int) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.NRGBA{}})
	index := map[uint32]uint8{0: 0}
	last, at := uint32(0), uint8(0)
	whole := d.each(w, h, func(i int, v uint32) bool {
		if v != last {
			n, ok := index[v]
			if !ok {
				if len(m.Palette) == 256 {
					return false
				}
				n = uint8(len(m.Palette))
				index[v] = n
				m.Palette = append(m.Palette, color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: uint8(v >> 24)})
			}
			last, at = v, n
		}
		m.Pix[i] = at
		return true
	})
	if !whole {
		return nil
	}
	return m
}

// each calls do with each pixel that was drawn, and its index, until do returns
// false.
func (d *sixelReader) each(w, h int, do func(i int, v uint32) bool) bool {
	for y, row := range d.rows[:min(h, len(d.rows))] {
		for x, v := range row[:min(w, len(row))] {
			if v != 0 && !do(y*w+x, v) {
				return false
			}
		}
	}
	return true
}

// percentRGB makes a colour of parts from 0 to 100.
func percentRGB(r, g, b int) uint32 {
	part := func(v int) uint32 { return uint32((min(v, 100)*255 + 50) / 100) }
	return 0xff<<24 | part(r)<<16 | part(g)<<8 | part(b)
}

// hlsRGB makes a colour of hue, lightness and saturation. DEC counts hues from
// blue on.
func hlsRGB(h, l, s int) uint32 {
	light, sat := float64(min(l, 100))/100, float64(min(s, 100))/100
	chroma := (1 - abs(2*light-1)) * sat
	low := light - chroma/2
	hue := float64((h+240)%360) / 60
	second := chroma * (1 - abs(mod2(hue)-1))
	var r, g, b float64
	switch int(hue) {
	case 0:
		r, g = chroma, second
	case 1:
		r, g = second, chroma
	case 2:
		g, b = chroma, second
	case 3:
		g, b = second, chroma
	case 4:
		r, b = second, chroma
	default:
		r, b = chroma, second
	}
	part := func(v float64) uint32 { return uint32((v+low)*255 + 0.5) }
	return 0xff<<24 | part(r)<<16 | part(g)<<8 | part(b)
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

// mod2 is the rest of dividing by 2.
func mod2(v float64) float64 { return v - 2*float64(int(v/2)) }
