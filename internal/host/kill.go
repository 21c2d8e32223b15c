package host

import (
	"log"
	"os"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/supervise"
	"den/internal/wire"

	"golang.org/x/sys/unix"
)

// signalGrace is how long the program has for each step when a signal asks the
// host to end: all of them fit into the ten seconds that container engines
// give.
const signalGrace = 2 * time.Second

// obey ends the session when a signal asks the host to end. A signal that
// meets the replacement of the binary is handed over, and obeyed by the next.
func (h *Host) obey(stop <-chan struct{}) {
	supervise.Obey(h.asked, stop, signalGrace, func(by os.Signal, grace time.Duration) {
		name := "a signal"
		if sig, ok := by.(syscall.Signal); ok {
			name = unix.SignalName(sig)
		}
		h.mu.Lock()
		h.endedBy = name
		h.mu.Unlock()
		if _, err := h.kill(grace); err != nil {
			log.Printf("end by %s: %v", name, err)
		}
	})
}

// kill ends the session and all its processes, and answers when its record
// is closed.
func (h *Host) kill(grace time.Duration) (wire.Killed, error) {
	if err := h.beginKill(); err != nil {
		return wire.Killed{}, err
	}
	killed, err := h.tree.End(grace, supervise.HangUp, supervise.Terminate)
	if err != nil {
		log.Print(err) // the record tells of the program, which may have ended
	}
	<-h.closed
	if m := h.manifest(); m.Status != home.Destroyed {
		// It ended by itself a moment before; the caller closes its record.
		return wire.Killed{}, fault.Errorf(fault.NotRunning, "session '%s' is %s", m.Name, m.Ending())
	}
	return wire.Killed{Status: string(home.Destroyed), Killed: killed}, nil
}

// beginKill turns the session towards its end. Once a kill has begun, the
// binary is not replaced any more, and the other way round.
func (h *Host) beginKill() error {
	h.turning.Lock()
	defer h.turning.Unlock()
	if h.isUpgrading() {
		return fault.Hintf(fault.Errorf(fault.Busy, "the host of session '%s' replaces its binary", h.manifest().Name), "ask again in a moment")
	}
	if !h.isKilled() {
		if !h.manifest().Status.Final() {
			h.advance(home.Destroying, func(m *home.Manifest) { m.EndedBy = h.endedBy })
		}
		close(h.killing)
	}
	return nil
}

func (h *Host) isKilled() bool {
	select {
	case <-h.killing:
		return true
	default:
		return false
	}
}
