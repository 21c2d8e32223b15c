//go:build !linux

package subprocess

import (
	"sync"
	"time"
)

// lockSource says from time to time that any lock may have been let go of:
// here nobody tells.
type lockSource struct {
	changed chan string
	stop    chan struct{}
	ticking sync.WaitGroup
}

func watchLocks(string) (*lockSource, error) {
	s := &lockSource{changed: make(chan string), stop: make(chan struct{})}
	s.ticking.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
			select {
			case s.changed <- "":
			case <-s.stop:
				return
			}
		}
	})
	return s, nil
}

func (s *lockSource) close() {
	close(s.stop)
	s.ticking.Wait()
}
