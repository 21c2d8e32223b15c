package render

import (
	"os"
	"path/filepath"
	"testing"
)

// A font of the machine is used for what the embedded ones lack: the plainest
// of those that have all of the character.
func TestMachineFontsAreFallback(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string]string{
		filepath.Join(dir, "Some-BoldItalic.ttf"): jetBrainsBold,
		filepath.Join(deep, "Some-Mono.TTF"):      jetBrainsRegular,
		filepath.Join(dir, "Han.otf"):             notoCJK,
		filepath.Join(dir, "broken.ttf"):          "no font",
		filepath.Join(dir, "empty.otf"):           "",
		filepath.Join(dir, "text.txt"):            jetBrainsRegular,
	} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := &library{dirs: []string{filepath.Join(dir, "nothing"), dir}}
	for text, want := range map[string]string{"a": "Some-Mono.TTF", "漢": "Han.otf", "é": "Some-Mono.TTF", "\U0002ffff": ""} {
		f := l.find([]rune(text))
		got := ""
		for _, m := range l.fonts {
			if f != nil && m.parsed == f {
				got = filepath.Base(m.path)
			}
		}
		if got != want {
			t.Errorf("%q is from %q, want %q", text, got, want)
		}
	}
	if n := len(l.fonts); n != 3 {
		t.Errorf("%d fonts, want 3", n)
	}
}
