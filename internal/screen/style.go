package screen

import (
	"fmt"
	"strconv"

	"den/internal/screen/vt"
)

var underlineNames = [...]string{
	vt.UnderlineSingle: "single",
	vt.UnderlineDouble: "double",
	vt.UnderlineCurly:  "curly",
	vt.UnderlineDotted: "dotted",
	vt.UnderlineDashed: "dashed",
}

func styleOf(s vt.Style) Style {
	has := func(a vt.Attr) bool { return s.Attrs&a != 0 }
	return Style{
		FG: colorName(s.FG), BG: colorName(s.BG),
		Bold: has(vt.Bold), Dim: has(vt.Dim), Italic: has(vt.Italic), Blink: has(vt.Blink),
		Inverse: has(vt.Inverse), Hidden: has(vt.Hidden), Strike: has(vt.Strike), Overline: has(vt.Overline),
		Underline: underlineNames[s.Underline], UnderlineColor: colorName(s.UnderlineColor),
		Link: s.Link,
	}
}

func colorName(c vt.Color) string {
	switch c.Kind() {
	case vt.ColorIndexed:
		return strconv.Itoa(int(c.Index()))
	case vt.ColorRGB:
		return hexColor(c.RGB())
	}
	return ""
}

func hexColor(c vt.RGB) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// paletteOf returns the colours that the screen's runs use by number, so that
// a reader needs no table of its own.
func paletteOf(t *vt.Terminal, styles map[uint32]Style) map[int]string {
	var p map[int]string
	for _, s := range styles {
		for _, name := range []string{s.FG, s.BG, s.UnderlineColor} {
			i, err := strconv.Atoi(name)
			if err != nil {
				continue // the default, or a true colour
			}
			if p == nil {
				p = map[int]string{}
			}
			p[i] = hexColor(t.Palette(i))
		}
	}
	return p
}

// AppendSGR appends the sequence that switches from any style to this one.
func AppendSGR(dst []byte, s vt.Style) []byte {
	dst = append(dst, "\x1b[0"...)
	for _, a := range []struct {
		attr vt.Attr
		code string
	}{
		{vt.Bold, ";1"}, {vt.Dim, ";2"}, {vt.Italic, ";3"}, {vt.Blink, ";5"}, {vt.Inverse, ";7"},
		{vt.Hidden, ";8"}, {vt.Strike, ";9"}, {vt.Overline, ";53"},
	} {
		if s.Attrs&a.attr != 0 {
			dst = append(dst, a.code...)
		}
	}
	switch s.Underline {
	case vt.UnderlineNone:
	case vt.UnderlineSingle:
		dst = append(dst, ";4"...)
	default:
		dst = fmt.Appendf(dst, ";4:%d", s.Underline)
	}
	dst = appendColor(dst, s.FG, 30, 90, "38")
	dst = appendColor(dst, s.BG, 40, 100, "48")
	switch c := s.UnderlineColor; c.Kind() {
	case vt.ColorIndexed:
		dst = fmt.Appendf(dst, ";58:5:%d", c.Index())
	case vt.ColorRGB:
		dst = fmt.Appendf(dst, ";58:2::%d:%d:%d", c.RGB().R, c.RGB().G, c.RGB().B)
	}
	return append(dst, 'm')
}

// appendColor uses the shortest form that every terminal knows.
func appendColor(dst []byte, c vt.Color, base, bright int, long string) []byte {
	switch c.Kind() {
	case vt.ColorIndexed:
		switch i := int(c.Index()); {
		case i < 8:
			return fmt.Appendf(dst, ";%d", base+i)
		case i < 16:
			return fmt.Appendf(dst, ";%d", bright+i-8)
		default:
			return fmt.Appendf(dst, ";%s;5;%d", long, i)
		}
	case vt.ColorRGB:
		rgb := c.RGB()
		return fmt.Appendf(dst, ";%s;2;%d;%d;%d", long, rgb.R, rgb.G, rgb.B)
	}
	return dst
}
