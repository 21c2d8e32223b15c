package shim

import (
	"sync/atomic"
	"time"

	"den/internal/supervise"
)

// restAfter is how long a session must be silent before its shim gives memory
// back. Most sessions are silent most of the time.
const restAfter = 2 * time.Second

// deletedCheck is how often the shim of a silent session looks whether its
// files were deleted.
const deletedCheck = 10 * time.Minute

// activity counts what happens, for rest.
type activity struct {
	count atomic.Uint64
	news  chan struct{} // one token: something happened
}

func newActivity() *activity { return &activity{news: make(chan struct{}, 1)} }

func (a *activity) note() {
	a.count.Add(1)
	select {
	case a.news <- struct{}{}:
	default: // the token lies there already
	}
}

// rest gives memory back to the system whenever nothing has happened for a
// while. Then it sleeps until something does, but for a look at deleted every
// deletedCheck. It returns early when deleted reports true.
func (a *activity) rest(stop <-chan struct{}, deleted func() bool) {
	timer := time.NewTimer(restAfter)
	defer timer.Stop()
	for {
		before := a.count.Load()
		timer.Reset(restAfter)
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		if deleted() {
			return
		}
		if a.count.Load() != before {
			continue
		}
		supervise.ReturnMemory()
		timer.Reset(deletedCheck)
		select {
		case <-a.news:
		case <-timer.C:
		case <-stop:
			return
		}
	}
}
