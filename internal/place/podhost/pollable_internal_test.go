package podhost

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// A Read of a stream that this process inherited can be ended.
func TestInheritedStreamIsPollable(t *testing.T) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil { // they block, as what programs inherit
		t.Fatal(err)
	}
	defer syscall.Close(fds[1])
	inherited := os.NewFile(uintptr(fds[0]), "inherited")
	defer inherited.Close()
	in := pollable(inherited)
	defer in.Close()
	if err := in.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
