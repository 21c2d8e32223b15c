package vt_test

import (
	"fmt"
	"testing"

	"den/internal/screen/vt"
)

func TestSGR(t *testing.T) {
	red, rgb := vt.Indexed(1), vt.TrueColor(vt.RGB{R: 1, G: 2, B: 3})
	for _, c := range []struct {
		in   string
		want vt.Style
	}{
		{"1;2;3;5;7;8;9;53", vt.Style{Attrs: vt.Bold | vt.Dim | vt.Italic | vt.Blink | vt.Inverse | vt.Hidden | vt.Strike | vt.Overline}},
		{"1;2;3;5;7;8;9;53;22;23;25;27;28;29;55", vt.Style{}},
		{"4", vt.Style{Underline: vt.UnderlineSingle}},
		{"21", vt.Style{Underline: vt.UnderlineDouble}},
		{"4:3", vt.Style{Underline: vt.UnderlineCurly}},
		{"4:4;1", vt.Style{Underline: vt.UnderlineDotted, Attrs: vt.Bold}},
		{"4:5", vt.Style{Underline: vt.UnderlineDashed}},
		{"4;4:0", vt.Style{}},
		{"4;24", vt.Style{}},
		{"31", vt.Style{FG: red}},
		{"91;101", vt.Style{FG: vt.Indexed(9), BG: vt.Indexed(9)}},
		{"38;5;1", vt.Style{FG: red}},
		{"38:5:1", vt.Style{FG: red}},
		{"38;2;1;2;3", vt.Style{FG: rgb}},
		{"38:2:1:2:3", vt.Style{FG: rgb}},
		{"38:2::1:2:3", vt.Style{FG: rgb}},
		{"48;2;1;2;3;1", vt.Style{BG: rgb, Attrs: vt.Bold}},
		{"48:2::1:2:3:::;1", vt.Style{BG: rgb, Attrs: vt.Bold}},
		{"58:2::1:2:3;4", vt.Style{UnderlineColor: rgb, Underline: vt.UnderlineSingle}},
		{"58;5;1", vt.Style{UnderlineColor: red}},
		{"58;5;1;59", vt.Style{}},
		{"31;39;41;49", vt.Style{}},
		{"1;31;0", vt.Style{}},
		{"1;31;", vt.Style{}},
		{"38;5", vt.Style{}},
		{"38;2;1;2", vt.Style{}},
		{"38;5;256", vt.Style{}},
	} {
		t.Run(c.in, func(t *testing.T) {
			term := vt.New(config(10, 2, 0))
			term.Write([]byte("\x1b[" + c.in + "mx"))
			row := term.Row(0)
			if got := row.Cell(0).Style; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if got := term.StyleOf(row.StyleID(0)); got != c.want {
				t.Errorf("by number: %+v", got)
			}
			if id := row.StyleID(0); (id == 0) != (c.want == vt.Style{}) {
				t.Errorf("style number %d", id)
			}
		})
	}
}

func TestErasedCellsKeepTheBackgroundOnly(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("\x1b[1;4;31;42mx\x1b[K"))
	if got, want := term.Row(0).Cell(5).Style, (vt.Style{BG: vt.Indexed(2)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHyperlinks(t *testing.T) {
	term := vt.New(config(20, 2, 0))
	term.Write([]byte("\x1b]8;id=a;http://x/;y\x1b\\ab\x1b[mc\x1b]8;;\x1b\\d"))
	want := vt.Style{Link: "http://x/;y", LinkID: "a"}
	for x, w := range []vt.Style{want, want, want, {}} {
		if got := term.Row(0).Cell(x).Style; got != w {
			t.Errorf("column %d: %+v", x, got)
		}
	}
}

func TestPalette(t *testing.T) {
	term := vt.New(vt.Config{Cols: 10, Rows: 2, Background: vt.RGB{R: 9}})
	if _, bg := term.DefaultColors(); bg != (vt.RGB{R: 9}) {
		t.Errorf("background %v", bg)
	}
	if got := term.Palette(196); got != (vt.RGB{R: 255}) {
		t.Errorf("196 is %v", got)
	}
	if got := term.Palette(255); got != (vt.RGB{R: 0xee, G: 0xee, B: 0xee}) {
		t.Errorf("255 is %v", got)
	}
	term.Write([]byte("\x1b]4;196;rgb:0/8/f\a\x1b]11;#123456\a"))
	if got := term.Palette(196); got != (vt.RGB{G: 0x88, B: 0xff}) {
		t.Errorf("196 is %v", got)
	}
	if _, bg := term.DefaultColors(); bg != (vt.RGB{R: 0x12, G: 0x34, B: 0x56}) {
		t.Errorf("background %v", bg)
	}
	term.Write([]byte("\x1b]104;196\a\x1b]111\a"))
	if got := term.Palette(196); got != (vt.RGB{R: 255}) {
		t.Errorf("196 is %v after reset", got)
	}
	if _, bg := term.DefaultColors(); bg != (vt.RGB{R: 9}) {
		t.Errorf("background %v after reset", bg)
	}
}

// A program that uses ever new styles, links and clusters does not grow the
// terminal, and what is on the screen stays right.
func TestTablesAreSwept(t *testing.T) {
	term := vt.New(config(20, 4, 50))
	for i := range 59993 {
		fmt.Fprintf(term, "\x1b]8;;http://h/%d\a\x1b[38;2;%d;%d;%dmx%c\u0301%c\x1b]8;;\a", i, i>>16, i>>8&255, i&255, 'a'+i%26, rune(0x300+i/26%100))
	}
	styles, clusters := term.Tables()
	if styles > 5000 || clusters > 5000 {
		t.Errorf("tables hold %d styles and %d clusters", styles, clusters)
	}
	if err := term.Check(); err != nil {
		t.Error(err)
	}
	i := 59992
	x := term.Cursor().Col - 2
	c := term.Row(3).Cell(x)
	if want := vt.TrueColor(vt.RGB{R: uint8(i >> 16), G: uint8(i >> 8), B: uint8(i)}); c.Style.FG != want || c.Style.Link != "http://h/59992" {
		t.Errorf("last cell %+v", c)
	}
}

// With more live styles than the table holds, text stays and memory is bounded.
func TestTooManyLiveStyles(t *testing.T) {
	term := vt.New(config(200, 50, 1000))
	var b []byte
	for i := range 100000 {
		b = fmt.Appendf(b[:0], "\x1b[38;2;%d;%d;%dmx", i>>16, i>>8&255, i&255)
		term.Write(b)
	}
	if styles, _ := term.Tables(); styles > 1<<16 {
		t.Errorf("%d styles", styles)
	}
	if err := term.Check(); err != nil {
		t.Error(err)
	}
	if got := term.Row(10).Cell(10).Text; got != "x" {
		t.Errorf("cell %q", got)
	}
}

func TestStyleStack(t *testing.T) {
	bold := vt.Style{Attrs: vt.Bold, FG: vt.Indexed(1)}
	for _, c := range []struct {
		in   string
		want vt.Style
	}{
		{"\x1b[1;31m\x1b[#{\x1b[0;4;42m\x1b[#}", bold},
		{"\x1b[1;31m\x1b[#p\x1b[m\x1b[#q", bold},
		{"\x1b[1;31m\x1b[30#{\x1b[0;3;34m\x1b[#}", vt.Style{Attrs: vt.Italic, FG: vt.Indexed(1)}},
		{"\x1b[4;41m\x1b[4;31#{\x1b[0;1m\x1b[#}", vt.Style{Attrs: vt.Bold, Underline: vt.UnderlineSingle, BG: vt.Indexed(1)}},
		{"\x1b[1;31m\x1b[#{\x1b[32m\x1b[#{\x1b[m\x1b[#}\x1b[#}", bold},
		{"\x1b[1;31m\x1b[#}", bold},
		{"\x1b[31m\x1b[#{\x1bc\x1b[1m\x1b[#}", vt.Style{Attrs: vt.Bold}},
	} {
		term := vt.New(config(10, 2, 0))
		term.Write([]byte(c.in + "x"))
		if got := term.Row(0).Cell(0).Style; got != c.want {
			t.Errorf("%q: %+v, want %+v", c.in, got, c.want)
		}
	}
}
