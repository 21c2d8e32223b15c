package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/fault"
	"den/internal/provider/subprocess/shim"

	"golang.org/x/sys/unix"
)

// A session's lock is held from the moment that somebody begins to start it
// until its shim has ended: the starter takes it and hands the descriptor on,
// so there is no moment without an owner. Its file is never removed.

// errHeld says that somebody else has the lock.
var errHeld = errors.New("the lock is held")

// takeLock locks the file for as long as the returned file, or a descriptor
// inherited from it, is open.
func takeLock(path string) (*os.File, error) {
	// A look first: to open the file for writing and to close it again would
	// tell watchers that a session ended.
	if l, err := look(path); err != nil {
		return nil, err
	} else if l.held {
		return nil, errHeld
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "open lock: %w", err)
	}
	err = lockNow(f)
	if err == nil {
		return f, nil
	}
	f.Close() // Best effort: nothing was written.
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, errHeld
	}
	return nil, fault.Errorf(fault.Storage, "lock %s: %w", path, err)
}

// lockState is what a lock's file tells.
type lockState struct {
	held   bool
	starts int    // how often a session of that name was started
	name   string // "" where it never was
}

// ended is the number of the last start that has ended: while the lock is
// held, the one before.
func (l lockState) ended() int {
	if l.held {
		return l.starts - 1
	}
	return l.starts
}

// look tells what is true of a lock. A file that is not there is held by
// nobody.
func look(path string) (lockState, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The directory was made when the provider was opened. If it is gone,
		// nobody knows what runs.
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			return lockState{}, nil
		}
	}
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "look at lock: %w", err)
	}
	defer f.Close() // Best effort: it was only read.
	held, err := lockedByOther(f)
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "look at lock %s: %w", path, err)
	}
	starts, name, err := shim.ReadLock(f)
	return lockState{held, starts, name}, err
}

// Pauses between looks at something that is about to happen.
const (
	firstPause = time.Millisecond
	maxPause   = 20 * time.Millisecond
)

// until looks again and again until it holds, or the context ends.
func until(ctx context.Context, holds func() (bool, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the session's end: %w", ctx.Err())
		}
	}
}

// untilFree waits until nobody holds the lock.
func untilFree(ctx context.Context, path string) error {
	return until(ctx, func() (bool, error) {
		l, err := look(path)
		return !l.held, err
	})
}
