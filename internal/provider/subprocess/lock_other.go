//go:build !linux

package subprocess

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockNow(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// lockedByOther takes a shared lock for a moment. A start in that moment is
// told that the session runs.
func lockedByOther(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
