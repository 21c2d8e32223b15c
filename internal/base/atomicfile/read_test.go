package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"den/internal/base/atomicfile"
)

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
