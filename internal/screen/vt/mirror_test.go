package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// mirrorLaw: after every frame, a player that is fed with what a Mirror wrote
// shows the source's screen with the covered cells masked.
func mirrorLaw(cfg vt.Config, seed uint64) func([]step) string {
	return func(steps []step) string {
		r := rand.New(rand.NewPCG(seed, 3))
		source, player := vt.New(cfg), vt.New(cfg)
		m := vt.NewMirror(cfg)
		for _, s := range steps {
			s.do(source)
			if s.cols > 0 {
				s.do(player)
				m.Resize(source)
			}
			cover := randomCover(r, source)
			out := m.Frame(nil, source, cover)
			player.Write(out)
			if d := mirrorDiff(source, player, cover); d != "" {
				return fmt.Sprintf("%s\nframe is %q", d, out)
			}
			if again := m.Frame(nil, source, cover); len(again) > 0 {
				return fmt.Sprintf("a second frame of the same screen is %q", again)
			}
			if r, n, p := player.TakeReplies(), player.TakeNotes(), player.Check(); r != nil || n != nil || p != nil {
				return fmt.Sprintf("frame %q made replies %q, notes %v; %v", out, r, n, p)
			}
		}
		return ""
	}
}

// randomCover covers a few cells of rows on the screen and above it, links to
// one host, and the title.
func randomCover(r *rand.Rand, t *vt.Terminal) vt.Cover {
	cols, _ := t.Size()
	salt := r.IntN(1000)
	return vt.Cover{Mask: '*', Title: "covered", Link: func(l, _ string) bool { return strings.HasPrefix(l, "http://a") }, Cells: func(row int) []bool {
		if (row+salt)%3 != 0 {
			return nil
		}
		hide := make([]bool, cols)
		for x := range hide {
			hide[x] = (x+row+salt)%5 < 2
		}
		return hide
	}}
}

// coveredCell is what a player must show of a cell of the source.
func coveredCell(row vt.Row, x int, hide []bool, cover vt.Cover) vt.Cell {
	c := row.Cell(x)
	hidden := func(x int) bool { return x >= 0 && x < len(hide) && hide[x] }
	if hidden(x) || c.Width == 0 && hidden(x-1) || c.Width == 2 && row.Len() > 1 && hidden(x+1) {
		c.Text, c.Width = string(cover.Mask), 1
	}
	if cover.Link(c.Style.Link, c.Style.LinkID) {
		c.Style.Link, c.Style.LinkID = "", ""
	}
	return c
}

func mirrorDiff(source, player *vt.Terminal, cover vt.Cover) string {
	if a, b := source.Modes(), player.Modes(); a.AltScreen != b.AltScreen || a.ReverseVideo != b.ReverseVideo {
		return fmt.Sprintf("modes %+v, the player has %+v", a, b)
	}
	if player.Title() != cover.Title {
		return fmt.Sprintf("title %q", player.Title())
	}
	a, b := source.Cursor(), player.Cursor()
	if b.PendingWrap = a.PendingWrap; a != b {
		return fmt.Sprintf("cursor %+v, the player has %+v", a, b)
	}
	for i := range 256 {
		if source.Palette(i) != player.Palette(i) {
			return fmt.Sprintf("colour %d", i)
		}
	}
	cols, rows := source.Size()
	for y := range rows {
		want, have, hide := source.Row(y), player.Row(y), cover.Cells(y)
		for x := range want.Shown() {
			if c := coveredCell(want, x, hide, cover); c != have.Cell(x) {
				return fmt.Sprintf("row %d, column %d: %+v, the player has %+v", y, x, c, have.Cell(x))
			}
		}
		if want.Size() != have.Size() {
			return fmt.Sprintf("row %d has size %d, in the player %d", y, want.Size(), have.Size())
		}
		if end := want.Cell(cols - 1); y+1 < rows && end.Text != "" && want.Wrapped() != have.Wrapped() {
			return fmt.Sprintf("row %d is wrapped: %t, in the player %t", y, want.Wrapped(), have.Wrapped())
		}
	}
	return ""
}

func TestMirrorShowsTheCoveredScreen(t *testing.T) { hold(t, 600, mirrorLaw) }

func FuzzMirror(f *testing.F) { fuzzLaw(f, mirrorLaw) }

// Rows that scrolled off between two frames stand above the player's screen, in
// order and covered, whatever program was on the other screen meanwhile.
func TestMirrorScrollback(t *testing.T) {
	cfg := vt.Config{Cols: 20, Rows: 5, Scrollback: 1000}
	source, player, m := vt.New(cfg), vt.New(cfg), vt.NewMirror(cfg)
	cover := vt.Cover{Mask: '*', Cells: func(int) []bool { return []bool{true} }}
	frame := func(out string) {
		source.Write([]byte(out))
		player.Write(m.Frame(nil, source, cover))
	}
	var all strings.Builder
	for i := range 100 {
		line := fmt.Sprintf("%d is \x1b[3%dma line\x1b[m that may be longer\r\n", i, i%8)
		all.WriteString(line)
		switch i % 7 {
		case 3:
			frame(all.String())
			all.Reset()
		case 4:
			frame(all.String() + "\x1b[?1049h\x1b[Hfull screen")
			frame("\x1b[?1049l")
			all.Reset()
		}
	}
	frame(all.String())
	if a, b := source.ScrollbackLen(), player.ScrollbackLen(); a != b || a < 150 {
		t.Fatalf("%d rows above the screen, %d above the player's", a, b)
	}
	for y := -source.ScrollbackLen(); y < 5; y++ {
		want, have := source.Row(y).AppendText(nil), string(player.Row(y).AppendText(nil))
		if len(want) > 0 {
			want[0] = '*'
		} else {
			want = []byte("*")
		}
		if have != string(want) || player.Row(y).Wrapped() != source.Row(y).Wrapped() {
			t.Errorf("row %d is %q, want %q", y, have, want)
		}
	}
}
