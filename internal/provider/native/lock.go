package native

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"den/internal/fault"
)

// lockLook is how often a lock that somebody holds is tried: it is held for as
// long as a file takes to be written, or a nudge to be read.
const lockLook = time.Millisecond

// lockFile locks a file of a session against all processes and all goroutines.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "lock: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil // Best effort: closing unlocks, nothing was written.
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close() // Best effort, as above.
			return nil, fault.Errorf(fault.Storage, "lock %s: %w", path, err)
		}
		select {
		case <-time.After(lockLook):
		case <-ctx.Done():
			f.Close() // Best effort, as above.
			return nil, ctx.Err()
		}
	}
}
