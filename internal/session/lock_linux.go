package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// An open-file-description lock belongs to the open file, not to a process:
// the creator of a session takes it and hands the descriptor to the host, so
// there is no moment without an owner; and it can be looked at without being
// taken, so a look never stands in a host's way.

// takeLock locks the file for as long as the returned file, or a descriptor
// inherited from it, is open.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole); err != nil {
		f.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// lockHeld reports whether somebody holds the lock. A missing file is not held.
func lockHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &whole); err != nil {
		return false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return whole.Type != unix.F_UNLCK, nil
}

// waitLock waits until the file is locked. The returned func unlocks it.
func waitLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK})
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EINTR) {
			f.Close() // Best effort: nothing was written.
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
