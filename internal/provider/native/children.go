package native

import (
	"errors"
	"sync"
	"syscall"
	"time"
)

// children are the hosts that this process started. They outlive it, but while
// it lives, one that ends stays a zombie until its parent asks for it. That is
// done whenever sessions are started, stopped or listed: a keeper does so all
// the time, and no thread has to wait.
type children struct {
	mu   sync.Mutex // guards the fields below
	pids map[int]struct{}
	// failed is when a start last failed: it may have left a host that ended
	// before it was ready, of which no number is known.
	failed time.Time
}

// leaving is how long such a host takes to end, and far more.
const leaving = 10 * time.Second

func (c *children) add(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pids == nil {
		c.pids = map[int]struct{}{}
	}
	c.pids[pid] = struct{}{}
}

func (c *children) startFailed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = time.Now()
}

// reap collects those that have ended. Until then their numbers are theirs.
func (c *children) reap(binary string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.pids {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || errors.Is(err, syscall.ECHILD) {
			delete(c.pids, pid)
		}
	}
	if c.failed.IsZero() {
		return
	}
	late := time.Since(c.failed) > leaving // then this look is the last
	reapFailed(binary)
	if late {
		c.failed = time.Time{}
	}
}
