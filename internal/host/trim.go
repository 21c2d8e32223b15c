package host

import (
	"time"

	"den/internal/supervise"
)

// restAfter is how long a session must be silent before its host gives memory
// back. A fleet of sessions rests most of the time.
const restAfter = 2 * time.Second

// trim gives memory back to the system whenever the session comes to rest.
// It sleeps until something happens: a host at rest does not wake up at all.
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
