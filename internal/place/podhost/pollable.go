package podhost

import (
	"os"
	"syscall"
)

// pollable makes a stream of this process one whose Close ends a Read or a Write
// that waits. Streams that programs inherit are not. Without that a connect whose
// other end is silent would not end, and its connections would turn in circles,
// as long as nobody closes its input: a container engine that was restarted does
// not.
func pollable(f *os.File) *os.File {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd) // Best effort: the other is used.
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
