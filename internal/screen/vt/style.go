package vt

// Attr is a set of character attributes.
type Attr uint16

const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Blink
	Inverse
	Hidden
	Strike
	Overline
)

// Underline is the form of an underline.
type Underline uint8

const (
	UnderlineNone   Underline = 0
	UnderlineSingle Underline = 1
	UnderlineDouble Underline = 2
	UnderlineCurly  Underline = 3
	UnderlineDotted Underline = 4
	UnderlineDashed Underline = 5
)

// Style is the appearance of a cell. The zero value is plain text.
type Style struct {
	FG, BG, UnderlineColor Color
	Attrs                  Attr
	Underline              Underline
	Link                   string // URI of the hyperlink, or ""
	LinkID                 string // the program's own id of the link, or ""
}

// style is Style with the link interned: small, free of pointers, comparable.
type style struct {
	fg, bg, ul Color
	attrs      Attr
	underline  Underline
	link       uint32 // number in styleTable.links; 0 = none; or an image's: see ofImage
}

// imageBit in a style's link says that the rest is the number of an image in
// images.placed: the cells of images have no links, and styles stay small.
const imageBit = 1 << 31

// ofImage is the style of an image's cells.
func ofImage(image uint32, bg Color) style {
	if image == 0 {
		return style{bg: bg} // it was deleted
	}
	return style{bg: bg, link: imageBit | image}
}

// image is the number of the image whose cells have this style, or 0.
func (s *style) image() uint32 {
	if s.link&imageBit == 0 {
		return 0
	}
	return s.link &^ imageBit
}

// StyleOf returns the style with the number that [Row.StyleID] gave. Numbers
// are valid until the next Write or Resize.
func (t *Terminal) StyleOf(id uint32) Style {
	if int(id) >= len(t.styles.list) {
		return Style{}
	}
	return t.publicStyle(t.styles.list[id])
}

func (t *Terminal) publicStyle(s style) Style {
	l := t.styles.link(s.link)
	return Style{
		FG: s.fg, BG: s.bg, UnderlineColor: s.ul,
		Attrs: s.attrs, Underline: s.underline,
		Link: l.uri, LinkID: l.id,
	}
}
