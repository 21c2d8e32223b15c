package host

import (
	"log"
	"os"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/process/tree"
	"den/internal/session/home"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// signalGrace is the time that the program has for each step of a graceful
// stop on a signal. All steps fit into the ten seconds that container engines
// grant.
const signalGrace = 2 * time.Second

// endOnSignal ends the session on SIGTERM or SIGINT. A signal that arrives
// while the binary is replaced is handed over to the next one.
func (h *Host) endOnSignal(stop <-chan struct{}) {
	tree.EndOnSignal(h.asked, stop, signalGrace, func(by os.Signal, grace time.Duration) {
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

// kill ends the session and all its processes, and returns when its record is
// closed.
func (h *Host) kill(grace time.Duration) (wire.Killed, error) {
	if err := h.beginKill(); err != nil {
		return wire.Killed{}, err
	}
	killed, err := h.tree.End(grace, tree.HangUp, tree.Terminate)
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

// beginKill marks the session as being destroyed. A kill and an upgrade exclude
// each other: the one that begins second is refused.
func (h *Host) beginKill() error {
	h.transition.Lock()
	defer h.transition.Unlock()
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

func (h *Host) isKilled() bool { return wake.IsClosed(h.killing) }

// restAfter is how long a session must be idle before its host returns memory.
// Most sessions are idle most of the time.
const restAfter = 2 * time.Second

// endDeleted ends a session whose directory was deleted: no verb can find it any
// more. It is refused while the binary is replaced; the next one looks too.
func (h *Host) endDeleted() {
	log.Printf("end session '%s': its directory was deleted", h.manifest().Name)
	if _, err := h.kill(signalGrace); err != nil {
		log.Print(err)
	}
}
