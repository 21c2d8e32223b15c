package supervise

import (
	"sync/atomic"
	"time"
)

// deletedCheck is how often an idle process looks whether it is over.
const deletedCheck = 10 * time.Minute

// An Activity counts what happens in a process that is idle most of the time,
// for Rest.
type Activity struct {
	count atomic.Uint64
	news  chan struct{} // one token: something happened
}

// NewActivity returns one without any.
func NewActivity() *Activity { return &Activity{news: make(chan struct{}, 1)} }

// Note tells that something happens, which needs memory.
func (a *Activity) Note() {
	a.count.Add(1)
	select {
	case a.news <- struct{}{}:
	default: // the token lies there already
	}
}

// Rest gives memory back to the system whenever nothing has happened for a
// while. Then it sleeps until something does, but for a look at over, which may
// be nil, every deletedCheck. It returns early when over reports true.
func (a *Activity) Rest(stop <-chan struct{}, after time.Duration, over func() bool) {
	var memory Memory
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		before := a.count.Load()
		timer.Reset(after)
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		if over != nil && over() {
			return
		}
		if a.count.Load() != before {
			continue
		}
		memory.Return()
		var check <-chan time.Time // nil: never
		if over != nil {
			timer.Reset(deletedCheck)
			check = timer.C
		}
		select {
		case <-a.news:
		case <-check:
		case <-stop:
			return
		}
	}
}
