package vt

import (
	"slices"
	"unicode/utf8"
)

// placeholder is the character that stands for a part of an image. The colour of
// its text is the image's id, that of its underline the id of the place; marks
// are the row and the column of the part, and the highest byte of the id. What
// marks leave out goes on from the cell to the left. Programs that know nothing
// of images move such text as any other.
const placeholder = 0x10eeee

// showsImage reports whether a cell shows a part of an image instead of text.
func (t *Terminal) showsImage(c cell) bool {
	v := c.content()
	switch {
	case v < placeholder: // nearly all text
		return false
	case v == placeholder || v >= firstTile:
		return true
	}
	return v&cellCluster != 0 && t.firstRune(v) == placeholder
}

// part is what a placeholder says.
type part struct {
	color, line Color // the two ids
	row, col    int
	high        uint32 // the highest byte of the id
}

// partOf reads a placeholder; before is what the cell to its left says, or nil.
func (t *Terminal) partOf(c cell, before *part) *part {
	s := t.styles.list[c.style()]
	p := &part{color: s.fg, line: s.ul}
	if before != nil && (before.color != p.color || before.line != p.line) {
		before = nil
	}
	text := t.text(c)
	var marks []int
	for _, r := range text[utf8.RuneLen(placeholder):] {
		if n, ok := diacriticNumber(r); ok {
			marks = append(marks, n)
		}
	}
	if len(marks) > 0 {
		p.row = marks[0]
	} else if before != nil {
		p.row = before.row
	}
	if before != nil && before.row != p.row {
		before = nil
	}
	if len(marks) > 1 {
		p.col = marks[1]
	} else if before != nil {
		p.col = before.col + 1
	}
	if len(marks) > 2 {
		p.high = uint32(marks[2] & 0xff)
	} else if before != nil && before.col+1 == p.col {
		p.high = before.high
	}
	return p
}

// image returns what the placeholder shows, and the number of the part; or nil.
func (p *part) image(m *images) (*Image, int) {
	id, place := p.high<<24|colorID(p.color), colorID(p.line)
	for i := range m.virtual {
		v := &m.virtual[i]
		if v.id == id && (place == 0 || v.place == place) {
			if p.row >= v.img.Rows || p.col >= v.img.Cols {
				return nil, 0
			}
			return v.img, p.row*v.img.Cols + p.col
		}
	}
	return nil, 0
}

// colorID is the number that a colour stands for.
func colorID(c Color) uint32 {
	switch c.Kind() {
	case ColorIndexed:
		return uint32(c.Index())
	case ColorRGB:
		v := c.RGB()
		return uint32(v.R)<<16 | uint32(v.G)<<8 | uint32(v.B)
	}
	return 0
}

// putVirtual notes how placeholders show an image.
func (m *images) putVirtual(v virtual) graphicsProblem {
	if v.id == 0 {
		return problemPlace
	}
	m.virtual = slices.DeleteFunc(m.virtual, func(old virtual) bool { return old.id == v.id && old.place == v.place })
	if len(m.virtual) >= maxNamed {
		m.virtual = slices.Delete(m.virtual, 0, 1)
	}
	m.virtual = append(m.virtual, v)
	return graphicsOK
}

// fitted is an image for placeholders: as large as its cells allow without
// stretching it, and in their middle.
func fitted(pic *picture, img *Image) *Image {
	w, h := img.Cols*CellWidth, img.Rows*CellHeight
	box := Rect{W: w, H: max(1, w*img.Source.H/img.Source.W)}
	if box.H > h {
		box = Rect{W: max(1, h*img.Source.W/img.Source.H), H: h}
	}
	box.X, box.Y = (w-box.W)/2, (h-box.H)/2
	return newImage(pic, img.Source, box, img.Cols, img.Rows)
}

// diacriticNumber is the number that a mark on a placeholder stands for.
func diacriticNumber(r rune) (int, bool) { return slices.BinarySearch(diacritics[:], r) }

// diacritics are the marks that stand for numbers, from 0 on: those of Unicode 6.0
// above letters (class 230) that no letter is composed with.
var diacritics = [...]rune{
	0x0305, 0x030d, 0x030e, 0x0310, 0x0312, 0x033d, 0x033e, 0x033f, 0x0346, 0x034a, 0x034b, 0x034c,
	0x0350, 0x0351, 0x0352, 0x0357, 0x035b, 0x0363, 0x0364, 0x0365, 0x0366, 0x0367, 0x0368, 0x0369,
	0x036a, 0x036b, 0x036c, 0x036d, 0x036e, 0x036f, 0x0483, 0x0484, 0x0485, 0x0486, 0x0487, 0x0592,
	0x0593, 0x0594, 0x0595, 0x0597, 0x0598, 0x0599, 0x059c, 0x059d, 0x059e, 0x059f, 0x05a0, 0x05a1,
	0x05a8, 0x05a9, 0x05ab, 0x05ac, 0x05af, 0x05c4, 0x0610, 0x0611, 0x0612, 0x0613, 0x0614, 0x0615,
	0x0616, 0x0617, 0x0657, 0x0658, 0x0659, 0x065a, 0x065b, 0x065d, 0x065e, 0x06d6, 0x06d7, 0x06d8,
	0x06d9, 0x06da, 0x06db, 0x06dc, 0x06df, 0x06e0, 0x06e1, 0x06e2, 0x06e4, 0x06e7, 0x06e8, 0x06eb,
	0x06ec, 0x0730, 0x0732, 0x0733, 0x0735, 0x0736, 0x073a, 0x073d, 0x073f, 0x0740, 0x0741, 0x0743,
	0x0745, 0x0747, 0x0749, 0x074a, 0x07eb, 0x07ec, 0x07ed, 0x07ee, 0x07ef, 0x07f0, 0x07f1, 0x07f3,
	0x0816, 0x0817, 0x0818, 0x0819, 0x081b, 0x081c, 0x081d, 0x081e, 0x081f, 0x0820, 0x0821, 0x0822,
	0x0823, 0x0825, 0x0826, 0x0827, 0x0829, 0x082a, 0x082b, 0x082c, 0x082d, 0x0951, 0x0953, 0x0954,
	0x0f82, 0x0f83, 0x0f86, 0x0f87, 0x135d, 0x135e, 0x135f, 0x17dd, 0x193a, 0x1a17, 0x1a75, 0x1a76,
	0x1a77, 0x1a78, 0x1a79, 0x1a7a, 0x1a7b, 0x1a7c, 0x1b6b, 0x1b6d, 0x1b6e, 0x1b6f, 0x1b70, 0x1b71,
	0x1b72, 0x1b73, 0x1cd0, 0x1cd1, 0x1cd2, 0x1cda, 0x1cdb, 0x1ce0, 0x1dc0, 0x1dc1, 0x1dc3, 0x1dc4,
	0x1dc5, 0x1dc6, 0x1dc7, 0x1dc8, 0x1dc9, 0x1dcb, 0x1dcc, 0x1dd1, 0x1dd2, 0x1dd3, 0x1dd4, 0x1dd5,
	0x1dd6, 0x1dd7, 0x1dd8, 0x1dd9, 0x1dda, 0x1ddb, 0x1ddc, 0x1ddd, 0x1dde, 0x1ddf, 0x1de0, 0x1de1,
	0x1de2, 0x1de3, 0x1de4, 0x1de5, 0x1de6, 0x1dfe, 0x20d0, 0x20d1, 0x20d4, 0x20d5, 0x20d6, 0x20d7,
	0x20db, 0x20dc, 0x20e1, 0x20e7, 0x20e9, 0x20f0, 0x2cef, 0x2cf0, 0x2cf1, 0x2de0, 0x2de1, 0x2de2,
	0x2de3, 0x2de4, 0x2de5, 0x2de6, 0x2de7, 0x2de8, 0x2de9, 0x2dea, 0x2deb, 0x2dec, 0x2ded, 0x2dee,
	0x2def, 0x2df0, 0x2df1, 0x2df2, 0x2df3, 0x2df4, 0x2df5, 0x2df6, 0x2df7, 0x2df8, 0x2df9, 0x2dfa,
	0x2dfb, 0x2dfc, 0x2dfd, 0x2dfe, 0x2dff, 0xa66f, 0xa67c, 0xa67d, 0xa6f0, 0xa6f1, 0xa8e0, 0xa8e1,
	0xa8e2, 0xa8e3, 0xa8e4, 0xa8e5, 0xa8e6, 0xa8e7, 0xa8e8, 0xa8e9, 0xa8ea, 0xa8eb, 0xa8ec, 0xa8ed,
	0xa8ee, 0xa8ef, 0xa8f0, 0xa8f1, 0xaab0, 0xaab2, 0xaab3, 0xaab7, 0xaab8, 0xaabe, 0xaabf, 0xaac1,
	0xfe20, 0xfe21, 0xfe22, 0xfe23, 0xfe24, 0xfe25, 0xfe26, 0x10a0f, 0x10a38, 0x1d185, 0x1d186, 0x1d187,
	0x1d188, 0x1d189, 0x1d1aa, 0x1d1ab, 0x1d1ac, 0x1d1ad, 0x1d242, 0x1d243, 0x1d244,
}
