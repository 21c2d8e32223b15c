package atomicfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
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

func TestReadTakesSmallRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, large, small := filepath.Join(dir, "pipe"), filepath.Join(dir, "large"), filepath.Join(dir, "small")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(small, []byte("12345"), 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		if _, err := atomicfile.Read(path, 5); !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("%s: %v, want not a regular file", path, err)
		}
	}
	if _, err := atomicfile.Read(large, 5); err == nil {
		t.Error("a file above the limit was read")
	}
	if data, err := atomicfile.Read(small, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
}
