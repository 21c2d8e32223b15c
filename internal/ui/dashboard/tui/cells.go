package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"den/internal/screen"
	"den/internal/screen/vt"

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
		if ascii(r.Text) && len(r.Text) == r.Width {
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

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
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
	if ascii(g.text) {
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
