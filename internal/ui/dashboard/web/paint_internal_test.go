package web

import (
	"reflect"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/ui/dashboard"
)

func frameOf(cols, rows int, output string) *dashboard.Frame {
	t := vt.New(vt.Config{Cols: cols, Rows: rows})
	t.Write([]byte(output)) // A terminal takes every byte.
	s := screen.Capture(t, 0)
	return &dashboard.Frame{Rev: 1, Screen: &s}
}

// Every cell has its place, whatever its characters are made of.
func TestPaintPutsCharactersIntoCells(t *testing.T) {
	t.Parallel()
	p := newPaint(nil, frameOf(20, 2, "ab日本c e\u0301x│─\r\n"+"12345678901234567日9"))
	want := []paintLine{
		{Row: 0, Runs: []paintRun{
			{Col: 0, Width: 2, Text: "ab"}, {Col: 2, Width: 2, Text: "日", Whole: true}, {Col: 4, Width: 2, Text: "本", Whole: true},
			{Col: 6, Width: 2, Text: "c "}, {Col: 8, Width: 1, Text: "e\u0301", Whole: true}, {Col: 9, Width: 3, Text: "x│─"},
		}},
		{Row: 1, Runs: []paintRun{{Col: 0, Width: 17, Text: "12345678901234567"}, {Col: 17, Width: 2, Text: "日", Whole: true}, {Col: 19, Width: 1, Text: "9"}}},
	}
	if !reflect.DeepEqual(p.Lines, want) {
		t.Errorf("lines:\n%+v\nwant\n%+v", p.Lines, want)
	}
}

func TestPaintSaysOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	from := frameOf(10, 3, "one\r\ntwo\r\nthree")
	to := frameOf(10, 3, "one\r\n\x1b[31mTWO\x1b[m\r\nthree")
	p := newPaint(from, to)
	if p.Full || len(p.Lines) != 1 || p.Lines[0].Row != 1 {
		t.Errorf("of one row that changed: %+v", p.Lines)
	}
	if len(p.Styles) != 1 || p.Styles[0].FG != "1" {
		t.Errorf("styles: %+v", p.Styles)
	}
	if p := newPaint(from, frameOf(11, 3, "one")); !p.Full || len(p.Lines) != 3 {
		t.Errorf("another size is not painted whole: %+v", p)
	}
}

// The page's theme gives the colours, but for those that a program has set.
func TestPaintSaysWhichColoursAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	plain := newPaint(nil, frameOf(10, 1, "\x1b[31mred\x1b[38;5;200mpink"))
	if plain.FG != "" || plain.BG != "" || len(plain.Palette) != 0 {
		t.Errorf("stock colours are sent: %q %q %v", plain.FG, plain.BG, plain.Palette)
	}
	own := newPaint(nil, frameOf(10, 1, "\x1b]4;1;#123456\x1b\\\x1b]11;#010203\x1b\\\x1b[31mred"))
	if own.BG != "#010203" || own.Palette[1] != "#123456" {
		t.Errorf("own colours: %q %v", own.BG, own.Palette)
	}
}

// A page is sent an image once, as long as its screen shows it.
func TestPaintSendsImagesOnce(t *testing.T) {
	t.Parallel()
	const image = "\x1bP0;1q\"1;1;18;40#1!18~-\x1b\\"
	shown, more := frameOf(10, 4, image), frameOf(10, 4, image+"\x1b[4;1Htext")
	p := newPaint(nil, shown)
	if len(p.Images) != 1 || len(p.Images[0].PNG) == 0 || len(p.Lines[0].Tiles) != 1 || p.Lines[0].Tiles[0].Image != p.Images[0].ID {
		t.Fatalf("images %+v, lines %+v", p.Images, p.Lines)
	}
	if p := newPaint(shown, more); len(p.Images) != 0 || len(p.Lines) != 1 {
		t.Errorf("it is sent again: %+v", p)
	}
	if p := newPaint(frameOf(10, 4, "text"), shown); len(p.Images) != 1 {
		t.Errorf("it is not sent to a page that shows something else: %+v", p)
	}
	if p := newPaint(shown, frameOf(12, 4, image)); len(p.Images) != 1 {
		t.Errorf("it is not sent with a whole screen: %+v", p)
	}
}
