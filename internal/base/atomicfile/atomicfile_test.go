package atomicfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"den/internal/base/atomicfile"
)

func TestReaderSeesOldOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	a, b := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)
	if err := atomicfile.Write(path, a); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 50 {
			if err := atomicfile.Write(path, [][]byte{a, b}[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, a) && !bytes.Equal(got, b) {
			t.Fatalf("read %d bytes that nobody wrote", len(got))
		}
	}
	wg.Wait()
}

func TestModeAndNothingLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := atomicfile.WriteJSON(path, map[string]int{"v": 1}); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", fi.Mode().Perm())
	}
	if err := atomicfile.Write(filepath.Join(path, "below-a-file"), nil); err == nil {
		t.Error("writing below a file succeeded")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d files in the directory, want 1", len(entries))
	}
}
