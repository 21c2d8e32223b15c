package vt_test

import (
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// settle feeds a terminal what settles it, as often as there is something.
func settle(t *testing.T, term *vt.Terminal) {
	t.Helper()
	for range 3 {
		term.Write(term.Settling())
	}
	if rest := term.Settling(); rest != nil {
		t.Errorf("it is not settled: %q", rest)
	}
}

// Whatever a program leaves behind, text that comes then stands on rows of its
// own, as it was printed, below what stood on the main screen.
func TestSettling(t *testing.T) {
	for _, left := range []string{
		"", "\x1b[?1049h", "\x1b[?47h", "\x1b[?1047h\x1b[3;3H", "\x1b[?1049h\x1b[Hother\x1b[2;4r\x1b[?6h\x1b[>31u", "\x1b7\x1b[H\x1b[?47h",
		"\x1b[2;4r", "\x1b[?69h\x1b[3;9s", "\x1b[2;4r\x1b[?6h", "\x1b[4h", "\x1b[20h", "\x1b[?7l", "\x1b[?25l", "\x1b(0", "\x1b)0\x0e", "\x1bN", "\x1b[1\"q",
		"\x1b[7m", "\x1b]8;;http://x\x1b\\", "\x1b[?5h", "\x1b#6", "\x1b[?2026h", "\x1b[?1003h\x1b[?1006h\x1b[?1004h", "\x1b[>4;2m", "\x1b[?1h\x1b=",
		"\x1b[H", "\x1b[2A", "text\r", "text\x1b[2D", "\x1b[99;99H", "\x1b[>1u\x1b[?1049h\x1b[>3u",
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 6, Scrollback: 10})
		term.Write([]byte("one\r\ntwo\r\nthree\r\n" + left))
		settle(t, term)
		want := string(term.AppendText(nil))
		m := term.Modes()
		if m.AltScreen || m.Insert || m.Origin || !m.AutoWrap || m.Mouse != vt.MouseNone || m.KittyFlags != 0 || m.Sync || !term.Cursor().Visible {
			t.Errorf("%q leaves %+v", left, m)
		}
		if !strings.HasPrefix(want, "one\ntwo\nthree") {
			t.Errorf("%q: of what stood there is left %q", left, want)
		}
		for range 6 {
			term.Write([]byte("\r\nabcdefghijklmnopqrstuvwxyz"))
		}
		got := string(term.AppendText(nil))
		if want := strings.TrimSuffix(strings.Repeat("abcdefghijklmnopqrst\nuvwxyz\n", 3), "\n"); got != want {
			t.Errorf("%q: then %q", left, got)
		}
		if n := term.ScrollbackLen(); n < 8 {
			t.Errorf("%q: %d rows scrolled away", left, n)
		}
	}
}

// Tab stops that are all gone come back; those that somebody has set stay.
func TestSettlingTabs(t *testing.T) {
	for left, want := range map[string]string{"\x1b[3g": "a       b", "\x1b[3g\x1b[5G\x1bH\r": "a   b", "": "a       b"} {
		term := vt.New(vt.Config{Cols: 20, Rows: 6})
		term.Write([]byte(left))
		settle(t, term)
		term.Write([]byte("a\tb"))
		if got := string(term.AppendText(nil)); got != want {
			t.Errorf("behind %q: %q, want %q", left, got, want)
		}
	}
}

func TestAppendPrinted(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\tb", "a\tb"},
		{"\t\tb", "\t\tb"},
		{"a\tb\t", "a\tb\t"},
		{"a \tb", "a \tb"},
		{"        \ra\tb", "a\tb"},
		{"abcdefgh\ti", "abcdefgh\ti"},
		{"a\tb\r12345678901", "12345678901"},
		{"a\tb\rxyz", "xyz     b"}, // as it looks
		{"abcdefghij\r\tX", "abcdefghXj"},
		{"a\tb\x1b[2K\rc", "c"},
		{"0123456789012345678\tx", "0123456789012345678\tx"},
		{"01234567890123456789\tx", "01234567890123456789\tx"},
		{"a\x1b[5Gb", "a   b"},
		{"aaa\nbbb", "aaa\nbbb"},
		{"aaa\n\tb", "aaa\n\tb"},
		{"aaa\n\r b", "aaa\n b"},
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 6, Scrollback: 10})
		term.Write([]byte(c.text))
		var got []byte
		for y := range term.Cursor().Row + 1 {
			row := term.Row(y)
			if got = row.AppendPrinted(got, 0, row.Len(), 0, false); !row.Wrapped() && y < term.Cursor().Row {
				got = append(got, '\n')
			}
		}
		if string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// Of a row that older text stands in only what was written since is taken.
func TestAppendPrintedSince(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 6})
	term.SetSeq(3)
	term.Write([]byte("older text"))
	term.SetSeq(4)
	term.Write([]byte("\rnew\t"))
	row := term.Row(0)
	if got := string(row.AppendPrinted(nil, 0, row.Len(), 3, false)); got != "new\t" {
		t.Errorf("%q", got)
	}
	if got := string(row.AppendPrinted(nil, 0, row.Len(), 4, false)); got != "" {
		t.Errorf("%q", got)
	}
}
