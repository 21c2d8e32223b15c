//go:build !linux

package filelock

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

type kind int

const (
	exclusive kind = unix.LOCK_EX
	shared    kind = unix.LOCK_SH
	none      kind = unix.LOCK_UN
)

type patience int

const (
	atOnce   patience = unix.LOCK_NB
	blocking patience = 0
)

// setLock locks the whole file: flock knows no parts.
func setLock(f *os.File, _ region, k kind, p patience) error {
	return unix.Flock(int(f.Fd()), int(k)|int(p))
}

// lockedByOther takes a shared lock for a moment. A Try in that moment fails
// with ErrHeld.
func lockedByOther(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, unix.Flock(int(f.Fd()), unix.LOCK_UN)
}

// awaitEnd returns at once: processes are not watched here.
func awaitEnd(context.Context, int, string) {}
