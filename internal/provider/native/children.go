package native

import (
	"errors"
	"sync"
	"syscall"
)

// children are the hosts that this process started. They outlive it, but while
// it lives, one that ends stays a zombie until its parent asks for it. That is
// done whenever sessions are started, stopped or listed: a keeper does so all
// the time, and no thread has to wait.
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

// reap collects those that have ended. Until then their numbers are theirs.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.pids {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || errors.Is(err, syscall.ECHILD) {
			delete(c.pids, pid)
		}
	}
}
