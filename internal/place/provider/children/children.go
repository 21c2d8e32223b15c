// Package children reaps detached child processes that end before this process.
package children

import (
	"errors"
	"sync"
	"syscall"
)

// A Set is processes that this one started. They may outlive it, but while it
// lives, one that ends stays a zombie until its parent asks for it. That is to
// be done in passing, whenever sessions are started, stopped or listed: nothing
// waits, and a thread a process would be a high price for tidiness.
type Set struct {
	mu   sync.Mutex // guards pids
	pids map[int]struct{}
}

// Add takes a child in.
func (s *Set) Add(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pids == nil {
		s.pids = map[int]struct{}{}
	}
	s.pids[pid] = struct{}{}
}

// reapAtOnce bounds how many children one Reap asks about: who starts and stops
// hundreds would else ask about hundreds each time.
const reapAtOnce = 16

// Reap collects those that have ended, of many some at random. Until then their
// numbers are theirs.
func (s *Set) Reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := 0
	for pid := range s.pids { // in random order
		if asked++; asked > reapAtOnce {
			return
		}
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == pid || errors.Is(err, syscall.ECHILD) {
			delete(s.pids, pid)
		}
	}
}
