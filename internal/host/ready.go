package host

import (
	"time"

	"den/internal/pty"
)

// The pauses between two probes of a program that is not ready: short at
// first, because most programs are ready in a moment, then longer, because
// asking costs.
const (
	firstProbePause = time.Millisecond
	lastProbePause  = 100 * time.Millisecond
)

// readyCheck asks the kernel whether the program waits for input. It believes
// it when two probes in a row say so and nothing ran in between.
type readyCheck struct {
	tty      *pty.PTY
	input    *inputQueue
	pause    time.Duration
	activity uint64
	last     pty.Readiness
}

func (h *Host) newReadyCheck() *readyCheck {
	return &readyCheck{tty: h.tty, input: h.input, pause: firstProbePause}
}

// seen probes once and reports whether the program was ready now and at the
// probe before, with nothing between.
func (r *readyCheck) seen(activity uint64) bool {
	if r.activity != activity {
		r.activity, r.pause, r.last = activity, firstProbePause, pty.Readiness{}
	}
	if r.input.more() { // it has yet to see what was sent
		r.last = pty.Readiness{}
		return false
	}
	now := r.tty.Probe()
	settled := now.State == pty.Ready && r.last.State == pty.Ready && now.Fingerprint == r.last.Fingerprint
	r.last = now
	return settled
}

// backoff returns how long to wait before the next probe. Output or input in
// the meantime wakes the waiter earlier.
func (r *readyCheck) backoff() time.Duration {
	p := r.pause
	if r.last.State != pty.Ready {
		r.pause = min(2*r.pause, lastProbePause)
	}
	return p
}
