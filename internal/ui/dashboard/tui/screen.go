package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/ui/dashboard"

	"github.com/charmbracelet/x/ansi"
)

// glyph is one cell of a session's screen: its text, or nothing behind a wide
// character.
type glyph struct {
	text  string // "" is a blank
	width int    // 0 behind a wide one
	run   *screen.Run
}

// glyphs spreads a line over its cells, up to cols.
func glyphs(line screen.Line, cols int) []glyph {
	out := make([]glyph, 0, cols)
	for i := range line.Runs {
		r := &line.Runs[i]
		for len(out) < r.Col {
			out = append(out, glyph{width: 1})
		}
		if dashboard.IsASCII(r.Text) && len(r.Text) == r.Width {
			for j := range len(r.Text) {
				out = append(out, glyph{r.Text[j : j+1], 1, r})
			}
			continue
		}
		out = append(out, split(r)...)
	}
	for len(out) < cols {
		out = append(out, glyph{width: 1})
	}
	return out[:cols]
}

// split lets the emulator decide which runes make one character: it did so
// when the run was made.
func split(r *screen.Run) []glyph {
	t := vt.New(vt.Config{Cols: r.Width, Rows: 1})
	t.Write([]byte("\x1b[?7l" + screen.ClusterMode(r.Clusters()) + r.Text)) // the last character must not wrap
	row := t.Row(0)
	out := make([]glyph, 0, r.Width)
	for col := range r.Width {
		c := row.Cell(col)
		out = append(out, glyph{c.Text, c.Width, r})
	}
	return out
}

// shown is a cell's text as it can be sent to any terminal after the text of
// the cell before it: one that another terminal may take for wider or narrower,
// or join to what is before it, would shift the rest of the line.
func (g glyph) shown(before string) string {
	if g.text == "" || g.text == " " {
		return " "
	}
	if dashboard.IsASCII(g.text) {
		return g.text
	}
	first, _ := utf8.DecodeRuneInString(g.text)
	for _, s := range []string{g.text, string(first)} {
		wide, wc := ansi.StringWidth(s), ansi.StringWidthWc(s)
		if wide == g.width && wc == g.width && !strings.HasSuffix(s, "\u200d") && ansi.StringWidth(before+s) == ansi.StringWidth(before)+wide {
			return s
		}
	}
	return fmt.Sprintf("%-*s", g.width, "�")
}

// drawCells returns width cells of a line from column left on, with their
// styles; the cursor, in column cursor, is reversed (-1: not in this line).
func drawCells(line screen.Line, cols, left, width, cursor int) string {
	all := glyphs(line, cols)
	var b []byte
	style, styled := vt.Style{}, false
	var run *screen.Run
	var own vt.Style // of run
	before := ""     // what was shown last
	for x := left; x < min(left+width, cols); x++ {
		g := all[x]
		if g.width == 0 && x > left {
			continue // drawn with its first half
		}
		if g.width == 0 || g.width == 2 && x+2 > min(left+width, cols) {
			g.text, g.width = "", 1 // half a character at the edge
		}
		if g.run != run {
			run, own = g.run, styleOf(g.run)
		}
		want := own
		if x == cursor {
			want.Attrs ^= vt.Inverse
		}
		if want != style {
			b = screen.AppendSGR(b, want)
			style, styled = want, want != vt.Style{}
		}
		before = g.shown(before)
		b = append(b, before...)
	}
	if styled {
		b = append(b, "\x1b[m"...)
	}
	for range width - (cols - left) {
		b = append(b, ' ')
	}
	return string(b)
}

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
	name = cmp.Or(name, otherwise)
	if i, err := strconv.Atoi(name); err == nil {
		name = s.Palette[i]
	}
	return colorOf(name).RGB()
}

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

// viewport is the part of a screen that is shown, and how. A session is never
// reflowed: what does not fit is cut off, or the whole screen is drawn small.
type viewport struct {
	small  bool
	follow bool // the view goes where the cursor is
	top    int  // the first row and column in view
	left   int
}

const (
	panCols = 8
	panRows = 4
)

func (l *viewport) reset() { l.follow, l.top, l.left = true, 0, 0 }

// key pans.
func (l *viewport) key(name string) {
	switch name {
	case "z":
		l.small = !l.small
		return
	case "0":
		l.reset()
		return
	case "H", "alt+left":
		l.left -= panCols
	case "L", "alt+right":
		l.left += panCols
	case "K", "alt+up", "shift+up":
		l.top -= panRows
	case "J", "alt+down", "shift+down":
		l.top += panRows
	default:
		return
	}
	l.follow = false
}

// place keeps the view within the screen, and the cursor within the view.
func (l *viewport) place(s *screen.Snapshot, width, height int) {
	if l.follow {
		l.top, l.left = l.followed(s, width, height)
	}
	l.top = max(0, min(l.top, s.Rows-height))
	l.left = max(0, min(l.left, s.Cols-width))
}

// followed is where the view goes by itself: where text is added. A program
// that hides the cursor draws the whole screen, and its top tells most.
func (l *viewport) followed(s *screen.Snapshot, width, height int) (top, left int) {
	c, last := s.Cursor, lastRow(s)
	if !c.Visible || last < height {
		return 0, 0
	}
	if s.AltScreen {
		top = max(0, c.Row-height+1)
	} else {
		top = max(min(last-height+1, c.Row), c.Row-height+1)
	}
	if c.Col >= width {
		left = c.Col - width + 1 + min(panCols, s.Cols-1-c.Col)
	}
	return top, left
}

// lastRow is the last row that shows anything, the cursor included.
func lastRow(s *screen.Snapshot) int {
	last := 0
	for i, l := range s.Lines {
		if len(l.Runs) > 0 {
			last = i
		}
	}
	if s.Cursor.Visible {
		last = max(last, s.Cursor.Row)
	}
	return last
}

// where says which part is in view, or that all is.
func (l *viewport) where(s *screen.Snapshot, width, height int) (cols, rows string) {
	if s.Cols > width {
		cols = span(l.left, width, s.Cols)
	}
	if s.Rows > height {
		rows = span(l.top, height, s.Rows)
	}
	return cols, rows
}
