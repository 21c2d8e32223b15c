//go:build !linux

package subprocess

import (
	"sync"
	"time"

	"den/internal/place/provider/inotify"
)

// watchLocks says from time to time that any lock may have been let go of:
// here nobody tells.
func watchLocks(string) (*lockSource, error) {
	changed, stop := make(chan []inotify.Event), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			select {
			case changed <- []inotify.Event{{Lost: true}}:
			case <-stop:
				return
			}
		}
	})
	return &lockSource{changed: changed, close: func() { close(stop); ticking.Wait() }}, nil
}
