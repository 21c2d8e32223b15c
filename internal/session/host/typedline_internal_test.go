package host

import "testing"

func TestTypedLine(t *testing.T) {
	type line struct {
		typed, want string
		keys        bool
		cut         bool
		entered     bool
	}
	editor := []line{
		{typed: "half ", want: "half "},
		{typed: "half \r"},
		{typed: "one\rtwo", want: "two"},
		{typed: "abc\x7f\x7fd", want: "ad"},
		{typed: "abc\x08", want: "ab"},
		{typed: "\x7f"},
		{typed: "ab cd\x17", want: "ab ", cut: true},
		{typed: "\x17"},
		{typed: "ab\x15cd", want: "cd"},
		{typed: "ab\x1b[H\x15", cut: true},
		{typed: "ab\x03"},
		{typed: "ab\x04", cut: true},
		{typed: "\x04"},
		{typed: "ab\x1a", cut: true},
		{typed: "é\x7fx", want: "x"},
		{typed: "a\x1b[A\x1bOB\x1bfb", want: "ab", keys: true},
		{typed: "\x1b[A\r", entered: true},
		{typed: "\x1b[A\x03", entered: true},
		{typed: "\x1b[A\x15\r", entered: true},
		{typed: "\x1b[I\x1b[O"},
		{typed: "\x1b[200~a\rb\x1b[201~", want: "a\rb"},
		{typed: "\x1b[200~a\rb\x1b[201~\r"},
		{typed: "a\x1b[", want: "a", keys: true},
		{typed: "a\x1b", want: "a", keys: true},
		{typed: "ca\t", want: "ca\t", keys: true},
		{typed: "\x10", keys: true},
		{typed: "\x0c"},
	}
	kernel := []line{
		{typed: "ca\t", want: "ca\t"},
		{typed: "a-b_c\x17", want: "a-"},
		{typed: "a b \x17", want: "a "},
		{typed: "ab\x17"},
		{typed: "ab\x08", want: "ab", keys: true},
		{typed: "ab\x04", want: "ab", keys: true},
		{typed: "\x04"},
		{typed: "ab\x1a"},
		{typed: "\x1b[A", keys: true},
		{typed: "\x1b[A\x15"},
		{typed: "\x1b[A\r"},
	}
	for canonical, lines := range map[bool][]line{false: editor, true: kernel} {
		for _, c := range lines {
			var l typedLine
			l.typed([]byte(c.typed), canonical)
			if string(l.Text) != c.want || l.Keys != c.keys || l.Cut != c.cut || l.Entered != c.entered {
				t.Errorf("%q (canonical %v): %q %+v, want %+v", c.typed, canonical, l.Text, l, c)
			}
		}
	}
}

func FuzzTypedLine(f *testing.F) {
	f.Add([]byte("a\x1b[200~b\r\x1b[201~\x7f\x17"), []byte("\x1b"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var l typedLine
		l.typed(first, false)
		l.typed(second, true)
		if len(l.Text) > maxTypedLine {
			t.Fatalf("%d bytes are kept", len(l.Text))
		}
	})
}
