package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"den/internal/fault"
)

const (
	lockPause    = 500 * time.Microsecond
	maxLockPause = 10 * time.Millisecond
)

// lock takes a lock that holds across goroutines and processes, and goes with
// the process that holds it. All locks of a server are places in one file
// beside its socket, so none is left over.
func (p *Provider) lock(ctx context.Context, what string) (unlock func(), err error) {
	f, err := os.OpenFile(p.socket+".den-lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "lock the tmux server: %w", err)
	}
	sum := sha256.Sum256([]byte(what))
	place := int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
	for wait := lockPause; ; wait = min(2*wait, maxLockPause) {
		taken, err := tryLock(f, place)
		if taken {
			return func() { f.Close() }, nil // Best effort: the lock goes with the file.
		}
		if err == nil {
			err = pause(ctx, wait)
		}
		if err != nil {
			f.Close() // Best effort: it was not locked.
			return nil, fmt.Errorf("wait for a lock of the tmux server: %w", err)
		}
	}
}
