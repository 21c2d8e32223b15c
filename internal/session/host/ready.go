package host

import (
	"time"

	"den/internal/process/pty"
	"den/internal/session/cell"
)

// Pauses between two probes of a program that is not ready. They start short,
// because most programs are ready soon, and grow, because probes are
// expensive.
const (
	firstProbePause = time.Millisecond
	lastProbePause  = 100 * time.Millisecond
)

// readyCheck determines whether the program waits for input. Two probes in a
// row must agree, with no activity between them.
type readyCheck struct {
	tty      *pty.PTY
	input    *inputQueue
	core     *core
	first    time.Duration // of the pauses
	pause    time.Duration // the next one
	activity uint64
	last     pty.Readiness
	again    bool      // the last pause was between two that must agree
	standing time.Time // since when no thread has run, and only a timer could have moved one
	ticking  time.Time // since when every probe found it waiting for the terminal and for timers
}

func (h *Host) newReadyCheck() *readyCheck { return h.newSlowReadyCheck(firstProbePause) }

// newSlowReadyCheck is newReadyCheck for those who are in less of a hurry.
func (h *Host) newSlowReadyCheck(first time.Duration) *readyCheck {
	return &readyCheck{tty: h.tty, input: h.input, core: h.core, first: first, pause: first}
}

// seen probes once. It reports whether the program was ready at this probe and
// the one before, with no activity between them.
func (r *readyCheck) seen(activity uint64) bool {
	if r.activity != activity {
		r.activity, r.pause, r.last = activity, r.first, pty.Readiness{}
		r.standing, r.ticking = time.Time{}, time.Time{}
	}
	if r.input.more() || r.core.repliesDue() { // it has yet to see what was sent
		r.last = pty.Readiness{}
		return false
	}
	now := r.tty.Probe()
	switch {
	case !now.OnlyTimers || !r.last.OnlyTimers || now.Fingerprint != r.last.Fingerprint:
		r.standing = time.Time{}
	case r.standing.IsZero():
		r.standing = time.Now()
	}
	switch {
	case !now.OnlyTimers:
		r.ticking = time.Time{}
	case r.ticking.IsZero():
		r.ticking = time.Now()
	}
	unchanged := now.State == pty.Ready && r.last.State == pty.Ready && now.Fingerprint == r.last.Fingerprint
	r.last = now
	return unchanged
}

// backoff returns how long to wait before the next probe. Output or input in
// the meantime wakes the waiter earlier.
func (r *readyCheck) backoff() time.Duration {
	first := r.last.State == pty.Ready && !r.again
	r.again = r.last.State == pty.Ready
	if first {
		return cell.ProbePause
	}
	p := r.pause
	r.pause = min(2*r.pause, lastProbePause)
	return p
}

// stood returns how long the program has waited for the terminal and its own
// timers without any of its threads running, or 0. Such a program is most
// likely idle, but may be sleeping as part of a command.
func (r *readyCheck) stood() time.Duration { return since(r.standing) }

// ticked returns for how long every probe has found the program waiting for
// the terminal and its own timers. It may have run between the probes.
func (r *readyCheck) ticked() time.Duration { return since(r.ticking) }

// since returns the time since t, or 0 if t is zero.
func since(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t), 1)
}
