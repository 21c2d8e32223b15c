package supervise

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"den/internal/base/wake"
)

// deletedCheck is how often an idle process looks whether it is over.
const deletedCheck = 10 * time.Minute

// An Activity counts what happens in a process that is idle most of the time,
// for Rest.
type Activity struct {
	count atomic.Uint64
	news  wake.Signal // one token: something happened
}

// NewActivity returns one without any.
func NewActivity() *Activity { return &Activity{news: wake.New()} }

// Note tells that something happens, which needs memory.
func (a *Activity) Note() {
	a.count.Add(1)
	a.news.Set()
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

// small is the memory below which a process at rest does not collect its
// garbage. The first collections take more memory, for the collector's own
// tables, than they free of so little.
const small = 2 << 20

// Memory returns memory to the system whenever a process comes to rest.
type Memory struct {
	kept int // bytes, after the last collection
}

// Return gives back to the system what a process at rest does not need.
func (m *Memory) Return() {
	if used, ok := ownMemory(); !ok || used > max(small, m.kept+m.kept/8) {
		debug.FreeOSMemory()
		m.kept, _ = ownMemory()
	}
	forgetBinary()
}
