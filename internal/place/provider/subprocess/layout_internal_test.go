package subprocess

import (
	"net/url"
	"strings"
	"testing"
)

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"w-1", "W-1", "a/b", "a%2fb", "..", ".", "größe", "a~b", strings.Repeat("x/", 100), strings.Repeat("x", 200)} {
		f.Add(name)
	}
	seen := map[string]string{}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || len(name) > 200 {
			return
		}
		file := fileName(name)
		if len(file) > maxFileName || strings.ContainsAny(file, "/\x00") || file[0] == '.' || strings.ToLower(file) != file {
			t.Fatalf("%q becomes %q", name, file)
		}
		if other, ok := seen[file]; ok && other != name {
			t.Fatalf("%q and %q become %q", name, other, file)
		}
		seen[file] = name
		if strings.Contains(file, "~") {
			return // cut: its record has the name
		}
		if back, err := url.PathUnescape(file); err != nil || back != name {
			t.Fatalf("%q becomes %q, which is %q, %v", name, file, back, err)
		}
	})
}
