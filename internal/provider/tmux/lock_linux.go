package tmux

import (
	"errors"
	"os"
	"syscall"
)

// setLock is F_OFD_SETLK: a lock that belongs to the open file, not to the
// process, so it also keeps goroutines apart.
const setLock = 37

// tryLock locks one place in the file, if nobody has it.
func tryLock(f *os.File, place int64) (bool, error) {
	err := syscall.FcntlFlock(f.Fd(), setLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: place, Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
