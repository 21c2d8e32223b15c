//go:build !linux

package tmux

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the whole file, where there are no locks of single places that
// belong to an open file: sessions then wait for each other.
func tryLock(f *os.File, _ int64) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
