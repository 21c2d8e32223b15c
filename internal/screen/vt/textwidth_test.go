package vt_test

import (
	"strings"
	"testing"

	"den/internal/screen/vt"
)

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
