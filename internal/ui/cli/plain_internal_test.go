package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

func TestPlainWriter(t *testing.T) {
	for in, want := range map[string]string{
		"text\twith ä, ✳ and 日本\n":        "text\twith ä, ✳ and 日本\n",
		"\x1b]0;title\a\x1b[2J":           "^[]0;title^G^[[2J",
		"a\rb\x7f\u009b31m\u0085":         "a^Mb\\u007f\\u009b31m\\u0085",
		"a byte that is no text: \x9b":    "a byte that is no text: \uFFFD",
		"rm \u202egpj.exe\u202c":          `rm \u202egpj.exe\u202c`,
		"\u2066a\u2069\u200e\u200f\u061c": `\u2066a\u2069\u200e\u200f\u061c`,
		"שלום, مرحبا, a\u200db":           "שלום, مرحبا, a\u200db",
	} {
		for _, size := range []int{1, 2, len(in)} {
			var out bytes.Buffer
			w := &plainWriter{to: &out}
			for rest := in; rest != ""; {
				part := rest[:min(size, len(rest))]
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("%q: %d, %v", part, n, err)
				}
				rest = rest[len(part):]
			}
			if out.String() != want {
				t.Errorf("%q in parts of %d: %q, want %q", in, size, out.String(), want)
			}
		}
	}
}

// Whatever is written, no control character but newline and tab comes out, and
// none that changes the direction of text.
func FuzzPlainWriter(f *testing.F) {
	f.Add([]byte("\x1b[31m"), []byte("\xc2"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var out bytes.Buffer
		w := &plainWriter{to: &out}
		for _, part := range [][]byte{a, b} {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		}); i >= 0 {
			t.Errorf("%q, %q became %q", a, b, out.String())
		}
	})
}
