package tui

import (
	"strconv"

	"den/internal/screen"
	"den/internal/screen/vt"
)

// styleOf is a run's style, without its link; nil is plain.
func styleOf(r *screen.Run) vt.Style {
	if r == nil {
		return vt.Style{}
	}
	s := vt.Style{FG: colorOf(r.FG), BG: colorOf(r.BG), UnderlineColor: colorOf(r.UnderlineColor), Underline: underlines[r.Underline]}
	for _, a := range []struct {
		on   bool
		attr vt.Attr
	}{
		{r.Bold, vt.Bold}, {r.Dim, vt.Dim}, {r.Italic, vt.Italic}, {r.Blink, vt.Blink}, {r.Inverse, vt.Inverse},
		{r.Hidden, vt.Hidden}, {r.Strike, vt.Strike}, {r.Overline, vt.Overline},
	} {
		if a.on {
			s.Attrs |= a.attr
		}
	}
	return s
}

var underlines = map[string]vt.Underline{
	"single": vt.UnderlineSingle, "double": vt.UnderlineDouble, "curly": vt.UnderlineCurly,
	"dotted": vt.UnderlineDotted, "dashed": vt.UnderlineDashed,
}

// colorOf reads a colour as a snapshot writes it: "", "0" to "255", "#rrggbb".
func colorOf(name string) vt.Color {
	if name == "" {
		return vt.Color(0)
	}
	if len(name) == 7 && name[0] == '#' {
		if v, err := strconv.ParseUint(name[1:], 16, 32); err == nil {
			return vt.TrueColor(vt.RGB{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v)})
		}
	}
	if i, err := strconv.ParseUint(name, 10, 8); err == nil {
		return vt.Indexed(uint8(i))
	}
	return vt.Color(0)
}

// rgbOf is how a colour looks, by the snapshot's own palette.
func rgbOf(s *screen.Snapshot, name, otherwise string) vt.RGB {
	if name == "" {
		name = otherwise
	}
	if i, err := strconv.Atoi(name); err == nil {
		name = s.Palette[i]
	}
	return colorOf(name).RGB()
}
