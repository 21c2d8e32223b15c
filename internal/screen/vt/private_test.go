package vt_test

import (
	"testing"
	"unicode/utf8"

	"den/internal/screen/vt"
)

// Strings that only a dump may hold mean nothing in a program's output, even
// where it holds a whole dump.
func TestPrivateStringsNeedADump(t *testing.T) {
	source := vt.New(config(10, 3, 10))
	source.Write([]byte("a\r\nb\r\nc\r\nd\x1b]52;c;aGk=\a\x1b]133;A\a"))
	dump := source.Dump()

	term := vt.New(config(10, 3, 10))
	term.Write([]byte("x"))
	term.Write(dump)
	if _, ok := term.Clipboard(); ok {
		t.Error("a program's dump wrote the clipboard")
	}
	if got, want := string(term.AppendText(nil)), string(source.AppendText(nil)); got != want {
		t.Errorf("shows %q, want %q", got, want)
	}

	fresh := vt.New(config(10, 3, 10))
	fresh.Write(dump)
	if data, ok := fresh.Clipboard(); !ok || string(data) != "hi" {
		t.Errorf("clipboard %q %v", data, ok)
	}
	before := fresh.FirstLine()
	fresh.Write([]byte("\x1b_den;first;1000\x1b\\\x1b_den;clip;eHg=\x1b\\\x1b_den;wrap\x1b\\"))
	if data, _ := fresh.Clipboard(); string(data) != "hi" || fresh.FirstLine() != before || fresh.Cursor().PendingWrap {
		t.Error("a private string after the dump was obeyed")
	}
}

// Dumps of versions that always joined characters do not name mode 2027.
func TestOldDumpsAreReadWithClusters(t *testing.T) {
	term := vt.New(config(20, 3, 0))
	term.Write([]byte(intro + "👩\u200d👩x\x1b_den;end;\x1b\\❤\ufe0fy"))
	if c := term.Cursor(); c.Col != 6 {
		t.Errorf("cursor in column %d", c.Col)
	}
}

// A dump cut inside a rune is still text.
func TestDumpIsValidUTF8(t *testing.T) {
	term := vt.New(config(20, 3, 10))
	for _, b := range []byte("日本語 \xff é 👩‍👩‍👧 \x1b[1m\xe2\x82") {
		term.Write([]byte{b})
		if dump := term.Dump(); !utf8.Valid(dump) {
			t.Fatalf("%q", dump)
		}
		if d := dumpDiff(term, config(20, 3, 10)); d != "" {
			t.Fatal(d)
		}
	}
}

// Private strings that no dump would hold do nothing.
func TestPrivateStringsAreChecked(t *testing.T) {
	for _, s := range []string{
		"", "x", "first", "first;-1", "first;99999999999999999999", "first;9007199254740993", "anchor;1;1", "anchor;0;99", "anchor", "below;1;0", "below;0;0", "below;1", "at;9;9", "at;1", "prompt;16",
		"prompt;x", "tabs;1", "modes;ffffffffffffffff;0", "modes;1;2", "clip;?", "clip", "last;1;0;", "last;9;0;61", "last;1;1;61", "last;1;0;1b", "last;1;0;cc81",
		"last;1;0;6162", "last;1;0;ff", "last;1;0;zz", "last;0;0;f09f9880",
	} {
		fresh, term := vt.New(config(10, 3, 10)), vt.New(config(10, 3, 10))
		fresh.Write([]byte(intro))
		term.Write([]byte(intro + "\x1b_den;" + s + "\x1b\\"))
		if d := vt.Diff(fresh, term); d != "" {
			t.Errorf("%q: %s", s, d)
		}
	}
}
