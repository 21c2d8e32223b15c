package vt

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestRuneTable holds the generated table against what Go knows of Unicode.
func TestRuneTable(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		want := -1
		switch {
		case r < 0x20 || r >= 0x7f && r < 0xa0:
		case r < 0x300 && r != 0xa9 && r != 0xae:
			want = 1
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			want = 0
		case unicode.Is(unicode.Han, r) && unicode.Is(unicode.Lo, r), r >= 0xac00 && r <= 0xd7a3:
			want = 2
		case r >= 0x2500 && r < 0x2580, unicode.Is(unicode.Latin, r) && r < 0xff00, unicode.Is(unicode.Cyrillic, r):
			want = 1
		}
		if got := propsOf(r).width(); want >= 0 && got != want {
			t.Errorf("%U %c: width %d, want %d", r, r, got, want)
		}
	}
	for _, c := range []struct {
		r    rune
		want props
	}{
		{'😀', classPict | 2}, {'❤', classPict | 1}, {'©', classPict | 1}, {'🇩', classRegional | 2}, {'🏽', classModifier | 2},
		{zeroWidthJoiner, 0}, {emojiSelector, 0}, {0xad, 1}, {0x1161, 0}, {0x3000, 2}, {0xe0b0, 1}, {utf8.RuneError, 1}, {utf8.MaxRune, 1},
	} {
		if got := propsOf(c.r); got != c.want {
			t.Errorf("%U: %b, want %b", c.r, got, c.want)
		}
	}
}
