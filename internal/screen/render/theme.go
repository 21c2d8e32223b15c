package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/screen/vt"
)

// Theme is the colours in which a screen is shown.
type Theme struct {
	Name                           string
	Foreground, Background, Cursor Color
	Palette                        [16]Color // the named colours; programs may set others
	// Contrast is the least that text has against its background, unless a
	// program set both; 0 = none. Programs choose colours that can be read on a
	// dark background, where the light themes have a light one.
	Contrast float64
}

// forLight returns a theme for a light background.
func forLight(t Theme) Theme {
	t.Contrast = 4.5 // of WCAG, for small text
	return t
}

func theme(name string, fg, bg, cursor uint32, palette [16]uint32) Theme {
	t := Theme{Name: name, Foreground: rgb(fg), Background: rgb(bg), Cursor: rgb(cursor)}
	for i, v := range palette {
		t.Palette[i] = rgb(v)
	}
	return t
}

// themes, the default first.
var themes = lazy.Value[[]Theme]{Make: func() []Theme {
	return []Theme{
		theme("dark", 0xd5d9e0, 0x16181d, 0xd5d9e0, [16]uint32{
			0x2b2f38, 0xe8606a, 0x7fc77a, 0xe5b567, 0x4781e0, 0xc389e8, 0x56bcc4, 0xc3c8d1,
			0x6c7484, 0xff7f87, 0x9ce296, 0xf5cd82, 0x8fbeff, 0xd8a8f5, 0x7fd8df, 0xf4f6fa}),
		forLight(theme("light", 0x2b2f38, 0xfafafa, 0x2b2f38, [16]uint32{
			0x2b2f38, 0xc5303e, 0x2f8132, 0x946800, 0x2362c7, 0x8b3fb8, 0x0b7c87, 0x9aa1ad,
			0x6c7484, 0xdc4a56, 0x3f9a42, 0xad7d0c, 0x3d7ce0, 0xa45bcf, 0x1b97a3, 0xd5d9e0})),
		theme("dracula", 0xf8f8f2, 0x282a36, 0xf8f8f2, [16]uint32{
			0x21222c, 0xff5555, 0x50fa7b, 0xf1fa8c, 0xbd93f9, 0xff79c6, 0x8be9fd, 0xf8f8f2,
			0x6272a4, 0xff6e6e, 0x69ff94, 0xffffa5, 0xd6acff, 0xff92df, 0xa4ffff, 0xffffff}),
		theme("solarized-dark", 0x839496, 0x002b36, 0x839496, solarized),
		forLight(theme("solarized-light", 0x657b83, 0xfdf6e3, 0x657b83, solarized)),
		theme("gruvbox", 0xebdbb2, 0x282828, 0xebdbb2, [16]uint32{
			0x282828, 0xcc241d, 0x98971a, 0xd79921, 0x458588, 0xb16286, 0x689d6a, 0xa89984,
			0x928374, 0xfb4934, 0xb8bb26, 0xfabd2f, 0x83a598, 0xd3869b, 0x8ec07c, 0xebdbb2}),
		theme("nord", 0xd8dee9, 0x2e3440, 0xd8dee9, [16]uint32{
			0x3b4252, 0xbf616a, 0xa3be8c, 0xebcb8b, 0x81a1c1, 0xb48ead, 0x88c0d0, 0xe5e9f0,
			0x4c566a, 0xbf616a, 0xa3be8c, 0xebcb8b, 0x81a1c1, 0xb48ead, 0x8fbcbb, 0xeceff4}),
		theme("tokyo-night", 0xc0caf5, 0x1a1b26, 0xc0caf5, [16]uint32{
			0x15161e, 0xf7768e, 0x9ece6a, 0xe0af68, 0x7aa2f7, 0xbb9af7, 0x7dcfff, 0xa9b1d6,
			0x414868, 0xf7768e, 0x9ece6a, 0xe0af68, 0x7aa2f7, 0xbb9af7, 0x7dcfff, 0xc0caf5}),
	}
}}

var solarized = [16]uint32{
	0x073642, 0xdc322f, 0x859900, 0xb58900, 0x268bd2, 0xd33682, 0x2aa198, 0xeee8d5,
	0x002b36, 0xcb4b16, 0x586e75, 0x657b83, 0x839496, 0x6c71c4, 0x93a1a1, 0xfdf6e3,
}

// Themes returns the names of the themes, the default first.
func Themes() []string {
	names := make([]string, len(themes.Get()))
	for i, t := range themes.Get() {
		names[i] = t.Name
	}
	return names
}

// FindTheme returns the theme of that name; "" is the default.
func FindTheme(name string) (*Theme, error) {
	if name == "" {
		return &themes.Get()[0], nil
	}
	i := slices.IndexFunc(themes.Get(), func(t Theme) bool { return strings.EqualFold(t.Name, name) })
	if i < 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "no theme '%s'", name), "themes: %s", strings.Join(Themes(), ", "))
	}
	return &themes.Get()[i], nil
}

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

// luminance is that of WCAG: from 0 for black to 1 for white.
func (c Color) luminance() float64 {
	part := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}

// contrast is that of WCAG: from 1 for none to 21 for black on white.
func contrast(a, b Color) float64 {
	la, lb := a.luminance(), b.luminance()
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

// readable moves a colour towards black or white until text in it can be read
// on bg: the way that it lies already, if that leads far enough. Text in its
// background's colour is meant not to be read.
func readable(fg, bg Color, least float64) Color {
	if least <= 1 || fg == bg || contrast(fg, bg) >= least {
		return fg
	}
	black, white := rgb(0), rgb(0xffffff)
	towards, other := black, white
	if fg.luminance() > bg.luminance() {
		towards, other = white, black
	}
	if contrast(towards, bg) < least && contrast(other, bg) > contrast(towards, bg) {
		towards = other
	}
	for level := 1; level < full; level++ {
		if c := mix(towards, fg, level); contrast(c, bg) >= least {
			return c
		}
	}
	return towards
}
