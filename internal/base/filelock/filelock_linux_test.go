package filelock_test

import (
	"errors"
	"testing"

	"den/internal/base/filelock"

	"golang.org/x/sys/unix"
)

// One file holds a lock for every offset. A probe of the file finds any.
func TestOffsetsAreIndependent(t *testing.T) {
	path := lockPath(t)
	holder := start(t, "hold-byte-7", path, nil)
	f, err := filelock.WaitAt(t.Context(), path, 1<<61)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantHeld(t, path, true)
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("the whole file: %v", err)
	}
	holder.kill(t)
	if f, err = filelock.WaitAt(t.Context(), path, 7); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// watchWrites returns a func that counts the files of a directory that were
// closed after having been open for writing.
func watchWrites(t *testing.T, dir string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE); err != nil {
		t.Fatal(err)
	}
	return func() int {
		n, err := unix.Read(fd, make([]byte, 4096))
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		return max(n, 0)
	}
}
