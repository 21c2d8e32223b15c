package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"den/internal/base/atomicfile"
)

func TestWriteInKeepsBelowTheRoot(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(
		os.WriteFile(outside, []byte("theirs"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "out")),
	); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(root, "link", []byte("ours"), 0o644, nil); err != nil {
		t.Errorf("a link is replaced, not followed: %v", err)
	}
	if err := atomicfile.WriteIn(root, "out/f", []byte("ours"), 0o644, nil); err == nil {
		t.Error("wrote through a link that leads out")
	}
	if _, err := atomicfile.OpenIn(root, "out/theirs"); err == nil {
		t.Error("read through a link that leads out")
	}
	if data, err := os.ReadFile(outside); string(data) != "theirs" || err != nil {
		t.Errorf("the file outside is %q, %v", data, err)
	}
}

func TestWriteInAsksBeforeItReplaces(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := atomicfile.WriteIn(root, "f", []byte("old"), 0o640, nil); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if err := atomicfile.WriteIn(root, "f", []byte("new"), 0o640, func() error { return no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); string(data) != "old" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("%d files, want 1; %v", len(entries), err)
	}
}

func TestOpenInTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"pipe", "."} {
		if _, err := atomicfile.OpenIn(root, path); !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("%s: %v, want not a regular file", path, err)
		}
	}
}
