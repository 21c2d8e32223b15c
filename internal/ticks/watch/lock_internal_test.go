package watch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A process that another goroutine is just starting has all files of this one
// for a moment, and does not keep the locks.
func TestCloseWhileAChildStarts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	l, err := Acquire(path, Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AlsoDir(dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{l.file, l.dir} {
		theirs, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(theirs)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	again, err := Acquire(path, Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.AlsoDir(dir); err != nil {
		t.Error(err)
	}
}
