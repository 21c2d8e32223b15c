package host

import (
	"time"

	"den/internal/session"
	"den/internal/wire"
)

// kill ends the session and all its processes, and answers when its record
// is closed.
func (h *Host) kill(grace time.Duration) wire.Killed {
	h.killOnce.Do(func() {
		h.advance(session.Destroying, nil)
		close(h.killing)
	})
	killed, _ := h.proc.killAll(grace) // what does not end is in the host's log
	<-h.proc.done
	return wire.Killed{Status: string(session.Destroyed), Killed: killed}
}

func (h *Host) isKilled() bool {
	select {
	case <-h.killing:
		return true
	default:
		return false
	}
}

// finishKill waits for what outlives the program itself.
func (h *Host) finishKill() {
	h.proc.emptyWithin(killLimit)
}
