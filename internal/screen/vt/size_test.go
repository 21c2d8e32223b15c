package vt_test

import (
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func TestDoubleSizeLines(t *testing.T) {
	term := vt.New(config(20, 6, 10))
	term.Write([]byte("0123456789abcdefghij\x1b[1;15H\x1b#6\x1b[2;1H\x1b#3Big\x1b[3;1H\x1b#4Big\x1b[4;1Hplain"))
	for y, want := range []struct {
		size vt.LineSize
		text string
	}{{vt.DoubleWidth, "0123456789"}, {vt.DoubleTop, "Big"}, {vt.DoubleBottom, "Big"}, {vt.SingleSize, "plain"}} {
		row := term.Row(y)
		if got := string(row.AppendText(nil)); row.Size() != want.size || got != want.text {
			t.Errorf("row %d is %q of size %d, want %q of size %d", y, got, row.Size(), want.text, want.size)
		}
	}
	if got := term.Row(0).Shown(); got != 10 {
		t.Errorf("a double row shows %d cells", got)
	}
}

func TestDoubleSizeLinesWrapAtHalf(t *testing.T) {
	term := vt.New(config(20, 6, 10))
	term.Write([]byte("\x1b#6" + strings.Repeat("x", 13)))
	if got := string(term.AppendText(nil)); got != "xxxxxxxxxx\nxxx" {
		t.Errorf("screen %q", got)
	}
	if c := term.Cursor(); c.Row != 1 || c.Col != 3 {
		t.Errorf("cursor %+v", c)
	}
	// From the end of a single row down to a double one: there is no such column.
	term.Write([]byte("\x1b[3;20H\x1b#5\x1b[4;1H\x1b#6\x1b[3;20H\x1b[BZ"))
	if got := string(term.Row(3).AppendText(nil)); got != "         Z" {
		t.Errorf("row %q", got)
	}
}

func TestErasingAndScrollingDoubleSizeLines(t *testing.T) {
	term := vt.New(config(20, 3, 10))
	term.Write([]byte("\x1b#6one\x1b[K\x1b[2K"))
	if term.Row(0).Size() != vt.DoubleWidth {
		t.Error("erasing in a line changed its size")
	}
	term.Write([]byte("\rone\r\n\x1b#3two\r\nthree\r\nfour"))
	if term.Row(-1).Size() != vt.DoubleWidth || term.Row(0).Size() != vt.DoubleTop || term.Row(2).Size() != vt.SingleSize {
		t.Error("sizes did not scroll with their rows")
	}
	term.Write([]byte("\x1b[2J"))
	if term.Row(0).Size() != vt.SingleSize {
		t.Error("an erased screen has double rows")
	}
	term.Write([]byte("\x1b[H\x1b#6x\x1b[?69h"))
	if term.Row(0).Size() != vt.SingleSize {
		t.Error("there is a double row beside margins")
	}
}

func TestDoubleSizeLinesSurviveTheScrollback(t *testing.T) {
	term := vt.New(config(20, 3, 100))
	term.Write([]byte("\x1b#6head\r\n" + strings.Repeat("line\r\n", 50)))
	term.Resize(30, 3)
	if row := term.Row(-term.ScrollbackLen()); row.Size() != vt.DoubleWidth || string(row.AppendText(nil)) != "head" {
		t.Errorf("row %q of size %d", row.AppendText(nil), row.Size())
	}
	term.Resize(6, 3)
	if row := term.Row(-term.ScrollbackLen()); row.Size() != vt.SingleSize {
		t.Error("a row is double whose text has no room so")
	}
}
