package render

import (
	"den/internal/base/lazy"
	"den/internal/screen/vt"
)

// resolver turns the styles of one terminal into colours.
type resolver struct {
	t              *vt.Terminal
	theme          *Theme
	fg, bg, cursor Color
	styles         []resolvedStyle // by style number
}

// resolvedStyle is a style with its colours resolved: a cell without its
// character.
type resolvedStyle struct {
	cell   Cell
	solid  Color // of blocks: they make pictures, whose colours are no text's
	hidden bool
	known  bool
}

// stock is a terminal that no program has touched: what differs from its
// colours was set by a program, and is no matter of themes.
var stock = lazy.Value[*vt.Terminal]{Make: func() *vt.Terminal { return vt.New(vt.Config{Cols: 1, Rows: 1}) }}

func newResolver(t *vt.Terminal, theme *Theme) *resolver {
	res := &resolver{t: t, theme: theme, fg: theme.Foreground, bg: theme.Background, cursor: theme.Cursor}
	fg, bg := t.DefaultColors()
	stockFG, stockBG := stock.Get().DefaultColors()
	if fg != stockFG {
		res.fg = opaque(fg)
	}
	if bg != stockBG {
		res.bg = opaque(bg)
	}
	if c := t.CursorColor(); c != stock.Get().CursorColor() {
		res.cursor = opaque(c)
	}
	if t.Modes().ReverseVideo {
		res.fg, res.bg = res.bg, res.fg
	}
	return res
}

func (res *resolver) style(id uint32) *resolvedStyle {
	for int(id) >= len(res.styles) {
		res.styles = append(res.styles, resolvedStyle{})
	}
	l := &res.styles[id]
	if !l.known {
		*l = res.resolve(res.t.StyleOf(id))
	}
	return l
}

func (res *resolver) resolve(s vt.Style) resolvedStyle {
	has := func(a vt.Attr) bool { return s.Attrs&a != 0 }
	fg, bg := res.color(s.FG, res.fg), res.color(s.BG, res.bg)
	if has(vt.Inverse) {
		fg, bg = bg, fg
	}
	solid := fg
	if s.FG.Kind() != vt.ColorRGB || s.BG.Kind() != vt.ColorRGB {
		fg = readable(fg, bg, res.theme.Contrast)
	}
	if has(vt.Dim) {
		fg, solid = mix(fg, bg, dimLevel), mix(solid, bg, dimLevel)
	}
	return resolvedStyle{known: true, solid: solid, hidden: has(vt.Hidden), cell: Cell{
		Bold: has(vt.Bold), Italic: has(vt.Italic), Strike: has(vt.Strike), Over: has(vt.Overline),
		Underline: s.Underline, FG: fg, BG: bg, UnderlineColor: res.color(s.UnderlineColor, fg), Link: s.Link,
	}}
}

func (res *resolver) color(c vt.Color, byDefault Color) Color {
	switch c.Kind() {
	case vt.ColorIndexed:
		i := int(c.Index())
		v := res.t.Palette(i)
		if i < len(res.theme.Palette) && v == stock.Get().Palette(i) {
			return res.theme.Palette[i]
		}
		return opaque(v)
	case vt.ColorRGB:
		return opaque(c.RGB())
	}
	return byDefault
}
