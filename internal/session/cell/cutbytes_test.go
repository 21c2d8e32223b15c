package cell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"den/internal/session/cell"
)

func TestCutBytes(t *testing.T) {
	lines := strings.Repeat("0123456\n", 100) // 800 bytes
	for _, c := range []struct {
		name, text string
		max        int
		want       string // "": as it is
	}{
		{"short", "abc", 3, ""},
		{"no limit", lines, 0, ""},
		{"whole lines", lines, 40, "0123456\n0123456\n[... 769 bytes left out ...]\n0123456\n0123456\n"},
		{"one long line", strings.Repeat("x", 100), 10, "xxxxx\n[... 90 bytes left out ...]\nxxxxx"},
		{"no half characters", strings.Repeat("é", 50), 10, "éé\n[... 92 bytes left out ...]\néé"},
		{"one byte", "abc", 1, "a\n[... 2 bytes left out ...]"},
	} {
		got, cut := cell.CutBytes(c.text, c.max)
		if c.want == "" && (cut || got != c.text) || c.want != "" && (!cut || got != c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, cut, c.want)
		}
	}
}

func TestCutBytesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "0123456\n0123456\n[... 770 bytes left out ...]\n0123456\n0123456"
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, cut, err := cell.CutBytesFile(f, 40); err != nil || !cut || got != want {
		t.Errorf("%q, %v, %v", got, cut, err)
	}
	if _, cut, err := cell.CutBytesFile(f, 800); err != nil || cut {
		t.Errorf("a file that fits: %v, %v", cut, err)
	}
}

// FuzzCutBytes: the result is never much longer than asked for, and valid text
// stays valid.
func FuzzCutBytes(f *testing.F) {
	f.Add("hello\nworld\n", 4)
	f.Add("ééééé", 3)
	f.Add("\x80\x80\x80\x80", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		const note = 60 // bytes of the note, with its newlines
		got, cut := cell.CutBytes(text, limit)
		if cut != (limit > 0 && len(text) > limit) {
			t.Fatalf("cut %d bytes to %d: %v", len(text), limit, cut)
		}
		if cut && len(got) > limit+note {
			t.Errorf("%d bytes for a limit of %d", len(got), limit)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
