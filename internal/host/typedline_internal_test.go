package host

import "testing"

func TestTypedLine(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"half ", "half "},
		{"half \r", ""},
		{"one\rtwo", "two"},
		{"abc\x7f\x7fd", "ad"},
		{"\x7f", ""},
		{"ab cd\x17", "ab "},
		{"ab\x15cd", "cd"},
		{"ab\x03", ""},
		{"é\x7fx", "x"},
		{"a\x1b[A\x1bOB\x1bfb", "ab"},
		{"\x1b[200~a\rb\x1b[201~", "a\rb"},
		{"\x1b[200~a\rb\x1b[201~\r", ""},
		{"a\x1b[", "a"},
		{"a\x1b", "a"},
	} {
		var l typedLine
		l.typed([]byte(c.typed))
		if string(l.Text) != c.want {
			t.Errorf("%q: %q, want %q", c.typed, l.Text, c.want)
		}
	}
}

// Typed text stands in the line where the terminal holds it or the screen
// shows it at the cursor; keys that a program took for commands do not.
func TestTypedTextStandsInTheLine(t *testing.T) {
	for _, c := range []struct {
		typed    string
		lineMode bool
		row      string
		want     string
	}{
		{"half ", true, "", "half "},
		{"half ", false, "$ half ", "half "},
		{"half", false, "$ ", ""},
		{"jjj", false, ":", ""},
		{"a long text that wrapped", false, "that wrapped", "a long text that wrapped"},
		{"", true, "$ ", ""},
		{"  ", false, "$   ", ""},
	} {
		l := typedLine{Text: []byte(c.typed)}
		if got := l.standsIn(c.lineMode, c.row); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.typed, c.row, got, c.want)
		}
	}
}

func FuzzTypedLine(f *testing.F) {
	f.Add([]byte("a\x1b[200~b\r\x1b[201~\x7f\x17"), []byte("\x1b"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var l typedLine
		l.typed(first)
		l.typed(second)
		if len(l.Text) > maxTypedLine {
			t.Fatalf("%d bytes are kept", len(l.Text))
		}
	})
}
