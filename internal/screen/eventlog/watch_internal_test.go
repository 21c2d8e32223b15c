package eventlog

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestWatchWithoutNotices: where the system gives no notices, a look now and
// then has to do.
func TestWatchWithoutNotices(t *testing.T) {
	w := newWatch(t.TempDir() + "/none")
	defer w.close()
	if w.w != nil {
		t.Fatal("watches a directory that does not exist")
	}
	if heard := w.wait(t.Context()); heard != newFiles {
		t.Errorf("a look now and then heard %d, want that everything may have changed", heard)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if heard := w.wait(ctx); heard != noNews {
		t.Errorf("wait heard %d after its context", heard)
	}
}

// TestWatchTellsFilesFromContent: who is told only of growth does not look for
// new files, so whatever else happens has to be told as more than that.
func TestWatchTellsFilesFromContent(t *testing.T) {
	dir := t.TempDir()
	file, moved := filepath.Join(dir, "file"), filepath.Join(dir, "moved")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []struct {
		name string
		do   func() error
		want news
	}{
		{"write", func() error { _, err := f.WriteString("x"); return err }, newContent},
		{"rename", func() error { return os.Rename(file, moved) }, newFiles},
		{"new file", func() error { return os.Mkdir(file, 0o700) }, newFiles},
		{"removal", func() error { return os.Remove(file) }, newFiles},
	} {
		w := newWatch(dir) // its own, without the rest of the step before
		if w.w == nil {
			t.Fatal("no notices here")
		}
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if heard := w.wait(t.Context()); heard != step.want {
			t.Errorf("%s: heard %d, want %d", step.name, heard, step.want)
		}
		w.close()
	}
}
