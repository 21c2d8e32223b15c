package subprocess

import (
	"sync"

	"golang.org/x/sys/unix"
)

// started are the shims that this process started, through whichever Provider:
// children are a process's. Each is a zombie from its end until it is reaped,
// which is done in passing: nothing waits for it, and a thread a session would
// be a high price for tidiness.
var started children

type children struct {
	mu   sync.Mutex // guards pids
	pids map[int]struct{}
}

func (c *children) add(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pids == nil {
		c.pids = map[int]struct{}{}
	}
	c.pids[pid] = struct{}{}
}

// reap takes those that have ended.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.pids {
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == pid || err == unix.ECHILD {
			delete(c.pids, pid)
		}
	}
}

// reap waits for a child that has ended or is about to.
func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}
