package brief_test

import (
	"testing"

	"den/internal/base/brief"
)

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		text         string
		n            int
		runes, bytes string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "abc"},
		{"äöü", 3, "äöü", "ä"},
		{"äöüß", 3, "äö…", "ä"},
		{"日本語", 2, "日…", ""},
	} {
		if got := brief.Runes(c.text, c.n); got != c.runes {
			t.Errorf("%d characters of %q are %q, want %q", c.n, c.text, got, c.runes)
		}
		if got, cut := brief.Bytes(c.text, c.n); got != c.bytes || cut != (got != c.text) {
			t.Errorf("%d bytes of %q are %q, cut %v, want %q", c.n, c.text, got, cut, c.bytes)
		}
	}
}
