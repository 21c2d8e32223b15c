package vt

// RGB is a colour as a screen shows it.
type RGB struct{ R, G, B uint8 }

// Color is a colour as a program asked for it: the terminal's default, an
// entry of the 256-colour palette, or a true colour. The zero value is the
// default.
type Color uint32

// ColorKind is one of the three kinds of [Color].
type ColorKind uint8

const (
	ColorDefault ColorKind = 0
	ColorIndexed ColorKind = 1
	ColorRGB     ColorKind = 2
)

// Indexed returns the palette colour i.
func Indexed(i uint8) Color { return Color(ColorIndexed)<<24 | Color(i) }

// TrueColor returns the colour c itself.
func TrueColor(c RGB) Color {
	return Color(ColorRGB)<<24 | Color(c.R)<<16 | Color(c.G)<<8 | Color(c.B)
}

// Kind reports which kind of colour c is.
func (c Color) Kind() ColorKind { return ColorKind(c >> 24) }

// Index is the palette index of an indexed colour.
func (c Color) Index() uint8 { return uint8(c) }

// RGB is the value of a true colour.
func (c Color) RGB() RGB { return RGB{uint8(c >> 16), uint8(c >> 8), uint8(c)} }

// The built-in dark theme, used where Config gives no colour.
var (
	builtinForeground = RGB{0xd8, 0xd8, 0xd8}
	builtinBackground = RGB{0x18, 0x18, 0x18}
	builtinCursor     = RGB{0xd8, 0xd8, 0xd8}
)

// base16 is xterm's choice for the first sixteen colours.
var base16 = [16]RGB{
	{0x00, 0x00, 0x00}, {0xcd, 0x00, 0x00}, {0x00, 0xcd, 0x00}, {0xcd, 0xcd, 0x00},
	{0x00, 0x00, 0xee}, {0xcd, 0x00, 0xcd}, {0x00, 0xcd, 0xcd}, {0xe5, 0xe5, 0xe5},
	{0x7f, 0x7f, 0x7f}, {0xff, 0x00, 0x00}, {0x00, 0xff, 0x00}, {0xff, 0xff, 0x00},
	{0x5c, 0x5c, 0xff}, {0xff, 0x00, 0xff}, {0x00, 0xff, 0xff}, {0xff, 0xff, 0xff},
}

// defaultPalette computes entry i of the 256-colour palette: 16 named
// colours, a 6x6x6 cube, 24 greys.
func defaultPalette(i uint8) RGB {
	switch {
	case i < 16:
		return base16[i]
	case i < 232:
		level := func(n uint8) uint8 {
			if n == 0 {
				return 0
			}
			return 55 + 40*n
		}
		i -= 16
		return RGB{level(i / 36), level(i / 6 % 6), level(i % 6)}
	}
	grey := 8 + 10*(i-232)
	return RGB{grey, grey, grey}
}

// colors holds what OSC 4, 5 and 10 to 12 can change.
type colors struct {
	fg, bg, cursor                      RGB
	defaultFg, defaultBg, defaultCursor RGB
	palette                             map[uint8]RGB // changed entries only; or nil
	special                             map[uint8]RGB // OSC 5: changed entries only; or nil
}

// specialColors is how many colours OSC 5 knows.
const specialColors = 5

func newColors(cfg Config) colors {
	pick := func(c, builtin RGB) RGB {
		if c == (RGB{}) {
			return builtin
		}
		return c
	}
	c := colors{
		defaultFg:     pick(cfg.Foreground, builtinForeground),
		defaultBg:     pick(cfg.Background, builtinBackground),
		defaultCursor: pick(cfg.CursorColor, builtinCursor),
	}
	c.reset()
	return c
}

func (c *colors) reset() {
	c.fg, c.bg, c.cursor = c.defaultFg, c.defaultBg, c.defaultCursor
	c.palette, c.special = nil, nil
}

func (c *colors) entry(i uint8) RGB {
	if v, ok := c.palette[i]; ok {
		return v
	}
	return defaultPalette(i)
}

func (c *colors) setEntry(i uint8, v RGB) {
	if v == defaultPalette(i) {
		delete(c.palette, i)
		return
	}
	if c.palette == nil {
		c.palette = map[uint8]RGB{}
	}
	c.palette[i] = v
}

// specialEntry is a colour of OSC 5: the default foreground until it is set.
func (c *colors) specialEntry(i uint8) RGB {
	if v, ok := c.special[i]; ok {
		return v
	}
	return c.fg
}

func (c *colors) setSpecial(i uint8, v RGB) {
	if c.special == nil {
		c.special = map[uint8]RGB{}
	}
	c.special[i] = v
}

// Palette returns the effective colour i of the 256-colour palette, with what
// the program changed.
func (t *Terminal) Palette(i int) RGB { return t.colors.entry(uint8(i)) }

// DefaultColors returns the effective default foreground and background.
func (t *Terminal) DefaultColors() (fg, bg RGB) { return t.colors.fg, t.colors.bg }

// CursorColor returns the effective colour of the cursor.
func (t *Terminal) CursorColor() RGB { return t.colors.cursor }
