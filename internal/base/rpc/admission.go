package rpc

import (
	"time"

	"den/internal/base/fault"
)

// enter gives a client a place: a free one, that of a client which has been
// idle for long, or a reserved one.
func (s *Server) enter(c *client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.Errorf(fault.NotRunning, "this %s is about to end", s.Kind)
	}
	c.idleSince = time.Now()
	c.reserved = s.countLocked(false) >= s.Limits.Clients && !s.evictLocked(false, c.idleSince)
	if c.reserved && s.countLocked(true) >= s.Limits.Reserved && !s.evictLocked(true, c.idleSince) {
		return s.full()
	}
	s.clients[c] = struct{}{}
	return nil
}

func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

func (s *Server) full() error {
	return fault.Hintf(fault.Errorf(fault.Busy, "%s has %d clients already", s.Name, s.Limits.Clients), "try again in a moment")
}

func (s *Server) countLocked(reserved bool) (n int) {
	for c := range s.clients {
		if c.reserved == reserved {
			n++
		}
	}
	return n
}

// evictLocked cuts off the client that has been idle longest, if that is long
// enough: one that is about to ask must not lose its place to the next.
func (s *Server) evictLocked(reserved bool, now time.Time) bool {
	var longest *client
	for c := range s.clients {
		if c.reserved == reserved && c.idle() && (longest == nil || c.idleSince.Before(longest.idleSince)) {
			longest = c
		}
	}
	if longest == nil || now.Sub(longest.idleSince) < s.Limits.Idle {
		return false
	}
	delete(s.clients, longest)
	longest.raw.Close() // Best effort: it only ends the client's goroutines.
	return true
}
