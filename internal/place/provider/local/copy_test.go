package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/provider/local"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// Files, directories, links and modes arrive as they are; a directory may be
// named by a link.
func TestCopy(t *testing.T) {
	src, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(src, "tree", "a", "run"), "#!/bin/sh\n", 0o755)
	if err := os.Symlink("a/run", filepath.Join(src, "tree", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tree", filepath.Join(src, "named")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "to", "a", "run"), "old and longer than the new one", 0o600)
	if err := (local.Place{}).Copy(t.Context(), "s", dir, filepath.Join(src, "named"), "to"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "to", "link")); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("through the link: %q, %v", text, err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "to", "a", "run")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("the file: %v, %v", fi, err)
	}
}

// Nothing is written outside, whatever lies on the way.
func TestCopyStaysInside(t *testing.T) {
	src, dir, outside := filepath.Join(t.TempDir(), "f"), t.TempDir(), t.TempDir()
	write(t, src, "x", 0o600)
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for rel, want := range map[string]fault.Kind{"../f": fault.Usage, "/f": fault.Usage, "out/f": fault.Internal} {
		if err := (local.Place{}).Copy(t.Context(), "s", dir, src, rel); err == nil || want == fault.Usage && fault.KindOf(err) != want {
			t.Errorf("%s: %v", rel, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
	if err := (local.Place{}).Copy(t.Context(), "s", dir, src+"no", "f"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no source: %v", err)
	}
}
