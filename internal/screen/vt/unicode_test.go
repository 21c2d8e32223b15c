package vt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func TestUnicode(t *testing.T) {
	runScreenCases(t, []screenCase{
		{"wide", "日本", "日本", 0, 4},
		{"wide at the margin", "012345678日", "012345678\n日", 1, 2},
		{"wide fits exactly", "01234567日", "01234567日", 0, 9},
		{"overwriting the first half", "日\rx", "x", 0, 1},
		{"overwriting the second half", "日\x1b[2Gx", " x", 0, 2},
		{"erasing half", "日本\x1b[2G\x1b[X", "  本", 0, 1},
		{"inserting into a wide", "日本\x1b[2G\x1b[@", "   本", 0, 1},
		{"deleting half", "日本\x1b[2G\x1b[P", "  本"[1:], 0, 1},
		{"combining", "e\u0301x", "e\u0301x", 0, 2},
		{"combining at the margin", "0123456789\u0301x", "0123456789\u0301\nx", 1, 1},
		{"combining after a move", "ab\x1b[2G\u0301", "a\u0301b", 0, 1},
		{"combining on nothing", "\u0301a", "a", 0, 1},
		{"soft hyphen", "a\u00adb", "a\u00adb", 0, 3},
		{"zero width space", "a\u200bb", "a\u200bb", 0, 2},
		{"Hangul syllable of letters", "\u1112\u1161\u11abx", "\u1112\u1161\u11abx", 0, 3},
		{"invalid bytes", "a\xffb\xc0\xafc", "a\uFFFDb\uFFFD\uFFFDc", 0, 6},
		{"maximal subparts", "\xe2\x82x\xf0\x9f\x98y\xed\xa0\x80", "\uFFFDx\uFFFDy\uFFFD\uFFFD\uFFFD", 0, 7},
		{"C1 as runes are nothing", "a\u009b31mb\u0085c", "a31mbc", 0, 6},
		{"0x9c in a title", "\x1b]0;✳ x\aA", "A", 0, 1},
	})
}

// clusters switches mode 2027 on.
const clusters = "\x1b[?2027h"

func TestClusters(t *testing.T) {
	runScreenCases(t, []screenCase{
		{"ZWJ family", clusters + "👩‍👩‍👧‍👦x", "👩‍👩‍👧‍👦x", 0, 3},
		{"flag", clusters + "🇩🇪🇫🇷", "🇩🇪🇫🇷", 0, 4},
		{"skin tone", clusters + "👍🏽x", "👍🏽x", 0, 3},
		{"lone skin tone", clusters + "a🏽", "a🏽", 0, 3},
		{"VS16 widens", clusters + "❤️x", "❤️x", 0, 3},
		{"VS16 at the margin", clusters + "012345678❤️", "012345678\n❤️", 1, 2},
		{"VS15 keeps the width", clusters + "⌚︎x", "⌚︎x", 0, 3},
		{"keycap", clusters + "1️⃣x", "1️⃣x", 0, 3},
		{"SGR inside a cluster", clusters + "👩\x1b[1m\u200d👩x", "👩\u200d👩x", 0, 3},
		{"a move breaks a cluster", clusters + "👩\u200d\x1b[C👩", "👩\u200d 👩", 0, 5},
		{"C1 as runes are nothing", clusters + "a\u009b31mb\u0085c", "a31mbc", 0, 6},
	})
}

// Without mode 2027 every rune is as wide as wcwidth says.
func TestUnicodeWithoutClusters(t *testing.T) {
	const off = clusters + "\x1b[?2027l"
	runScreenCases(t, []screenCase{
		{"ZWJ pair", off + "👩\u200d👩x", "👩\u200d👩x", 0, 5},
		{"flag", off + "🇩🇪x", "🇩🇪x", 0, 3},
		{"skin tone", off + "👍🏽x", "👍🏽x", 0, 5},
		{"VS16 does not widen", off + "❤\ufe0fx", "❤\ufe0fx", 0, 2},
		{"keycap", off + "1\ufe0f\u20e3x", "1\ufe0f\u20e3x", 0, 2},
		{"combining", off + "e\u0301x", "e\u0301x", 0, 2},
		{"wide", off + "日本", "日本", 0, 4},
		{"Hangul syllable of letters", off + "\u1112\u1161\u11abx", "\u1112\u1161\u11abx", 0, 3},
		{"on again", off + "🇩\x1b[?2027h🇪🇫x", "🇩🇪🇫x", 0, 4},
		{"from the start", "👩\u200d👩x", "👩\u200d👩x", 0, 5},
		{"after a reset", clusters + "\x1bc👩\u200d👩x", "👩\u200d👩x", 0, 5},
	})
}

func TestWideInOneColumn(t *testing.T) {
	term := vt.New(config(1, 3, 10))
	term.Write([]byte(clusters + "日本❤️"))
	if got := string(term.AppendText(nil)); got != "日\n本\n❤️" {
		t.Errorf("shows %q", got)
	}
	term.Resize(10, 3)
	if got := string(term.AppendText(nil)); got != "日本❤️" {
		t.Errorf("after growing: %q", got)
	}
	if c := term.Row(0).Cell(2); c.Text != "本" || c.Width != 2 {
		t.Errorf("cell %+v", c)
	}
}

func TestCells(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("a日e\u0301"))
	row := term.Row(0)
	want := []vt.Cell{{Text: "a", Width: 1}, {Text: "日", Width: 2}, {Width: 0}, {Text: "e\u0301", Width: 1}, {Width: 1}}
	for x, w := range want {
		if got := row.Cell(x); got != w {
			t.Errorf("column %d: %+v, want %+v", x, got, w)
		}
	}
	if row.Len() != 10 {
		t.Errorf("length %d", row.Len())
	}
}

// Partial runes and clusters are carried from write to write.
func TestRunesAcrossWrites(t *testing.T) {
	const text = "naïve 日本 👩‍👩‍👧 🇩🇪 e\u0301 ❤️!"
	whole := vt.New(config(40, 2, 0))
	whole.Write([]byte(clusters))
	whole.Write([]byte(text))
	for n := 1; n <= 7; n++ {
		cut := vt.New(config(40, 2, 0))
		cut.Write([]byte(clusters))
		for p := []byte(text); len(p) > 0; {
			k := min(n, len(p))
			cut.Write(p[:k])
			p = p[k:]
		}
		if d := vt.Diff(whole, cut); d != "" {
			t.Errorf("%d bytes at a time: %s", n, d)
		}
	}
	if got := string(whole.AppendText(nil)); got != text {
		t.Errorf("shows %q", got)
	}
}

func TestClusterLengthIsBounded(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("e" + strings.Repeat("\u0301", 100000) + "x"))
	if n := len(term.Row(0).Cell(0).Text); n > 64 {
		t.Errorf("a cluster of %d bytes", n)
	}
	if got := term.Row(0).Cell(1).Text; got != "x" {
		t.Errorf("next cell %q", got)
	}
}

// TestEditorsLeaveNoStaleCells plays recordings of editors on a file full of
// zero-width joiners and variation selectors. The editors send only what they
// think has changed. So the screen must be as it is after they draw everything
// again; where it is not, they and the terminal disagree about widths.
func TestEditorsLeaveNoStaleCells(t *testing.T) {
	files, err := filepath.Glob("testdata/emoji/*.redraw.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, redraw := range files {
		name := strings.TrimSuffix(filepath.Base(redraw), ".redraw.bin")
		t.Run(name, func(t *testing.T) {
			term := vt.New(config(80, 24, 0))
			play(t, term, "testdata/emoji/"+name+".bin")
			edited := string(term.AppendText(nil))
			play(t, term, redraw)
			compareScreens(t, edited, string(term.AppendText(nil)))
		})
	}
}

func play(t *testing.T, term *vt.Terminal, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	term.Write(data)
}

// widthLaw: TextWidth is how far the cursor goes.
func widthLaw(t *testing.T, s string) {
	t.Helper()
	for mode, on := range map[string]bool{"\x1b[?2027h": true, "\x1b[?2027l": false} {
		term := vt.New(config(vt.MaxCols, 1, 0))
		term.Write([]byte(mode + s))
		if got, want := vt.TextWidth(s, on), term.Cursor().Col; got != want {
			t.Errorf("%q, clusters %v: %d, the cursor is at %d", s, on, got, want)
		}
	}
}

func TestTextWidth(t *testing.T) {
	g := newGenerator(1)
	for range 2000 {
		var b strings.Builder
		b.WriteString("x") // a mark has something to stand on
		for range g.r.IntN(12) {
			b.WriteString(strings.ToValidUTF8(printable(g.pick(texts...)), ""))
		}
		widthLaw(t, b.String())
	}
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

func FuzzTextWidth(f *testing.F) {
	f.Add("a日❤️👩‍👩‍👧🇩🇪1️⃣👍🏽")
	f.Fuzz(func(t *testing.T, s string) {
		if s = "x" + strings.ToValidUTF8(printable(s), ""); len(s) < vt.MaxCols/2 {
			widthLaw(t, s)
		}
	})
}
