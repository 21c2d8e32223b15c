package render

import (
	"fmt"

	"den/internal/screen/vt"
)

// Color is 0xAARRGGBB, not multiplied by its alpha.
type Color uint32

func opaque(c vt.RGB) Color {
	return 0xff<<24 | Color(c.R)<<16 | Color(c.G)<<8 | Color(c.B)
}

// rgb makes an opaque colour of 0xRRGGBB.
func rgb(v uint32) Color { return 0xff<<24 | Color(v) }

// RGBA returns the parts of c.
func (c Color) RGBA() (r, g, b, a uint8) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), uint8(c >> 24)
}

func (c Color) String() string { return fmt.Sprintf("#%06x", uint32(c)&0xffffff) }

// Coverage of a pixel comes in levels: sixteen are enough for the eye, and few
// enough that most screens have a palette.
const (
	levels   = 16
	full     = levels - 1
	dimLevel = 9 // of dim text
)

// mix puts fg over bg at a level from 0 to full.
func mix(fg, bg Color, level int) Color {
	if level >= full {
		return fg
	}
	part := func(shift uint) Color {
		f, b := int(fg>>shift&0xff), int(bg>>shift&0xff)
		return Color((f*level+b*(full-level)+full/2)/full) << shift
	}
	if bg>>24 == 0 { // over nothing: the colour stays and its alpha fades
		return fg&0xffffff | Color(int(fg>>24)*level/full)<<24
	}
	return part(24) | part(16) | part(8) | part(0)
}
