//go:build !linux

package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// takeLock locks the file for as long as the returned file, or a descriptor
// inherited from it, is open.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// lockHeld reports whether somebody holds the lock. A missing file is not
// held. It takes a shared lock for a moment, which is harmless: a session's
// lock is taken once, before its record exists.
func lockHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return false, nil
}

// waitLock waits until the file is locked. The returned func unlocks it.
func waitLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EINTR) {
			f.Close() // Best effort: nothing was written.
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
