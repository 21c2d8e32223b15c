package host

import (
	"time"

	"den/internal/supervise"
)

// restAfter is how long a session must be idle before its host returns memory.
// Most sessions are idle most of the time.
const restAfter = 2 * time.Second

// trim returns memory to the system whenever the session becomes idle. An idle
// host does not wake up at all.
func (h *Host) trim(stop <-chan struct{}) {
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
		if h.core.lastActivity() != before {
			continue
		}
		supervise.ReturnMemory()
		select {
		case <-h.core.active:
		case <-stop:
			return
		}
	}
}
