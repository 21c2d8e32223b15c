package host

import (
	"log"
	"time"

	"den/internal/base/filelock"
	"den/internal/process/supervise"
)

// restAfter is how long a session must be idle before its host returns memory.
// Most sessions are idle most of the time.
const restAfter = 2 * time.Second

// deletedCheck is how often an idle host looks whether its directory was
// deleted, if nothing tells it. One that is not idle, or is told, looks after
// restAfter: who deletes is done by then, and nothing is written between.
const deletedCheck = 10 * time.Minute

// trim returns memory to the system whenever the session becomes idle. An idle
// host wakes up only for deletedCheck. A session whose directory was deleted is
// ended: no verb can find it any more.
func (h *Host) trim(stop <-chan struct{}) {
	deleted, end := supervise.Deletions(h.lock)
	defer end()
	var memory supervise.Memory
	timer := time.NewTimer(restAfter)
	defer timer.Stop()
	for {
		before := h.core.lastActivity()
		timer.Reset(restAfter)
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		if filelock.Deleted(h.lock) {
			h.endDeleted()
			return
		}
		if h.core.lastActivity() != before {
			continue
		}
		memory.Return()
		timer.Reset(deletedCheck)
		select {
		case <-h.core.active:
		case <-deleted:
		case <-timer.C:
		case <-stop:
			return
		}
	}
}

// endDeleted ends a session whose directory was deleted. It is refused while the
// binary is replaced; the next one looks too.
func (h *Host) endDeleted() {
	log.Printf("end session '%s': its directory was deleted", h.manifest().Name)
	if _, err := h.kill(signalGrace); err != nil {
		log.Print(err)
	}
}
