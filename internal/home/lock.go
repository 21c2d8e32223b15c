package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// takeLock locks the file for as long as the returned file, or a descriptor
// inherited from it, is open. One that is held is an error.
func takeLock(path string) (*os.File, error) {
	return openLocked(path, lockNow)
}

// waitLock waits until the file is locked. The returned func unlocks it.
func waitLock(path string) (unlock func(), err error) {
	f, err := openLocked(path, lockWait)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

func openLocked(path string, lock func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := lock(f)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			f.Close() // Best effort: nothing was written.
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// Gone returns a channel that is closed when the session's host has ended. It
// is for commands that follow a session: its goroutine ends with the host or
// with the process.
func (d Dir) Gone() (<-chan struct{}, error) {
	f, err := os.Open(d.lock())
	if err != nil {
		return nil, fmt.Errorf("watch the host: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		for {
			if err := lockShared(f); !errors.Is(err, unix.EINTR) {
				f.Close() // first: who hears of it looks whether the lock is held
				close(gone)
				return
			}
		}
	}()
	return gone, nil
}

// lockHeld reports whether somebody holds the lock. A missing file is not
// held, and a look needs no write access.
func lockHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	held, err := lockedByOther(f)
	if err != nil {
		return false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return held, nil
}
