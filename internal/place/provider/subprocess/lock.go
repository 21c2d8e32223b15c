package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/place/provider/subprocess/shim"
)

// A session's lock is held from the moment that somebody begins to start it
// until its shim has ended: the starter takes it and hands the descriptor on,
// so there is no moment without an owner. Its file is never removed.

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

// readLock reads a lock's state. A missing file is held by nobody.
func readLock(path string) (lockState, error) {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The directory was made when the provider was opened. If it is gone,
		// nobody knows what runs.
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			return lockState{}, nil
		}
	}
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "read lock: %w", err)
	}
	defer f.Close() // Best effort: it was only read.
	held, err := filelock.HeldFile(f)
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "read lock: %w", err)
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
		l, err := readLock(path)
		return !l.held, err
	})
}
