package tree

import (
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"den/internal/base/filelock"
	"den/internal/base/wake"
)

// deletedCheck is how often an idle process looks whether its lock's file was
// deleted, if nothing tells it. One that is not idle, or is told, looks after a
// pause: who deletes is done by then, and nothing is written between.
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

// Rest calls slow, unless it is nil, and gives memory back to the system
// whenever nothing has happened for a while, and then sleeps until something
// does. With a lock it looks from time to time whether the lock's file was
// deleted: then it calls deleted, and returns.
func (a *Activity) Rest(stop <-chan struct{}, after time.Duration, slow func(), lock *os.File, deleted func()) {
	var memory Memory
	var heard <-chan os.Signal // nil: never
	if lock != nil {
		var end func()
		heard, end = Deletions(lock)
		defer end()
	}
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
		if lock != nil && filelock.Deleted(lock) {
			deleted()
			return
		}
		if a.count.Load() != before {
			continue
		}
		if slow != nil {
			slow()
		}
		memory.Return()
		var check <-chan time.Time // nil: never
		if lock != nil {
			timer.Reset(deletedCheck)
			check = timer.C
		}
		select {
		case <-a.news:
		case <-heard:
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
