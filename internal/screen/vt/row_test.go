package vt_test

import (
	"testing"

	"den/internal/screen/vt"
)

// Blanks that a program wrote at the end of a row belong to its text; cells that
// it never wrote do not.
func TestAppendWritten(t *testing.T) {
	for _, c := range []struct {
		wrote    string
		from, to int
		want     string
	}{
		{"", 0, 20, ""},
		{"plain", 0, 20, "plain"},
		{"blanks  ", 0, 20, "blanks  "},
		{"\x1b[5Cgap", 0, 20, "     gap"},
		{"blanks  ", 0, 7, "blanks "},
		{"blanks  ", 2, 20, "anks  "},
		{"日本 ", 0, 20, "日本 "},
		{"日本", 2, 20, "本"},
		{"exactly twenty cells", 0, 20, "exactly twenty cells"},
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 2})
		term.Write([]byte(c.wrote))
		if got := string(term.Row(0).AppendWritten([]byte(">"), c.from, c.to)); got != ">"+c.want {
			t.Errorf("%q, cells %d to %d: %q, want %q", c.wrote, c.from, c.to, got, ">"+c.want)
		}
	}
}
