//go:build !linux

package home

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockNow(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func lockWait(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) }

func lockShared(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_SH) }

// lockedByOther takes a shared lock for a moment, which is harmless: a
// session's lock is taken once, before its record exists.
func lockedByOther(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
