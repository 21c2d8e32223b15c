package tui

import (
	"den/internal/screen"
	"den/internal/screen/vt"
)

// drawSmall returns a screen scaled down to fit, as half blocks: each stands
// for two pixels, one above the other, and a pixel for a patch of cells.
func drawSmall(s *screen.Snapshot, width, height int) []string {
	// A pixel is as wide as a column of the view and half as high as a row,
	// so patches keep the proportions: as many columns as half rows.
	scale := max(float64(s.Cols)/float64(width), float64(s.Rows)/float64(height), 1)
	pixels := patches(s, scale)
	lines := make([]string, 0, height)
	for y := 0; y < len(pixels) && len(lines) < height; y += 2 {
		below := make([]pixel, len(pixels[y]))
		if y+1 < len(pixels) {
			below = pixels[y+1]
		}
		lines = append(lines, halfBlocks(pixels[y], below, width))
	}
	return lines
}

// pixel is the colour of a patch; not set where nothing is drawn.
type pixel struct {
	set   bool
	color vt.RGB
}

func patches(s *screen.Snapshot, scale float64) [][]pixel {
	lines := make([][]glyph, len(s.Lines))
	tints := map[*screen.Run]tint{nil: {bg: rgbOf(s, "", s.Background)}}
	for y := range s.Lines {
		lines[y] = glyphs(s.Lines[y], s.Cols)
		for i := range s.Lines[y].Runs {
			r := &s.Lines[y].Runs[i]
			tints[r] = tintOf(s, r)
		}
	}
	high, wide := int(float64(2*s.Rows)/scale+0.999), int(float64(s.Cols)/scale+0.999)
	out := make([][]pixel, high)
	for y := range out {
		out[y] = make([]pixel, wide)
		y0, y1 := extent(y, scale/2, s.Rows)
		for x := range out[y] {
			x0, x1 := extent(x, scale, s.Cols)
			var p patch
			for row := y0; row < y1; row++ {
				for _, g := range lines[row][x0:x1] {
					p.add(g, tints[g.run])
				}
			}
			out[y][x] = p.pixel()
		}
	}
	return out
}

// extent is which cells the nth patch covers: at least one.
func extent(n int, size float64, limit int) (from, to int) {
	from = min(int(float64(n)*size), limit-1)
	return from, min(max(from+1, int(float64(n+1)*size)), limit)
}

// ink is how much of a cell a character covers, in percent; about.
const ink = 60

// patch sums up cells, as percents of their colours.
type patch struct {
	cells   int
	drawn   bool
	r, g, b int
}

// tint is how the cells of a run look.
type tint struct {
	fg, bg vt.RGB
	filled bool // it has a background of its own
	hidden bool
}

func tintOf(s *screen.Snapshot, r *screen.Run) tint {
	t := tint{fg: rgbOf(s, r.FG, s.Foreground), bg: rgbOf(s, r.BG, s.Background), filled: r.BG != "", hidden: r.Hidden}
	if r.Inverse {
		t.fg, t.bg, t.filled = t.bg, t.fg, true
	}
	return t
}

func (p *patch) add(g glyph, t tint) {
	p.cells++
	text := (g.text != "" && g.text != " " || g.width == 0) && !t.hidden
	p.drawn = p.drawn || text || t.filled
	if !text {
		p.mix(t.bg, 100)
		return
	}
	p.mix(t.fg, ink)
	p.mix(t.bg, 100-ink)
}

func (p *patch) mix(c vt.RGB, percent int) {
	p.r, p.g, p.b = p.r+percent*int(c.R), p.g+percent*int(c.G), p.b+percent*int(c.B)
}

// pixel is not set where there is nothing but the background.
func (p *patch) pixel() pixel {
	if !p.drawn {
		return pixel{}
	}
	n := 100 * p.cells
	return pixel{true, vt.RGB{R: uint8(p.r / n), G: uint8(p.g / n), B: uint8(p.b / n)}}
}

// halfBlocks draws two rows of pixels as one of width characters.
func halfBlocks(above, below []pixel, width int) string {
	var b []byte
	var style vt.Style
	for x := range width {
		text, want := " ", vt.Style{}
		if x < len(above) {
			text, want = block(above[x], below[x])
		}
		if want != style {
			b = screen.AppendSGR(b, want)
			style = want
		}
		b = append(b, text...)
	}
	if style != (vt.Style{}) {
		b = append(b, "\x1b[m"...)
	}
	return string(b)
}

// block is chosen so that shapes stay without colours, too.
func block(above, below pixel) (string, vt.Style) {
	switch {
	case above.set && below.set && above.color == below.color:
		return "█", vt.Style{FG: vt.TrueColor(above.color)}
	case above.set && below.set:
		return "▀", vt.Style{FG: vt.TrueColor(above.color), BG: vt.TrueColor(below.color)}
	case above.set:
		return "▀", vt.Style{FG: vt.TrueColor(above.color)}
	case below.set:
		return "▄", vt.Style{FG: vt.TrueColor(below.color)}
	}
	return " ", vt.Style{}
}
