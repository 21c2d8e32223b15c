package host

import (
	"time"

	"den/internal/cell"
	"den/internal/pty"
)

// The pauses of the last resorts: how long a learned prompt must stand, and
// how long a program of which nothing is known must be silent.
const (
	promptRest = 100 * time.Millisecond
	quietRest  = 1500 * time.Millisecond
	// goneRest is how long the end of a program that is not there any more may
	// take to be known; after that it is there, but not to be seen.
	goneRest = 3 * quietRest
	// timerStand is how long a program that waits for the terminal and for
	// timers of its own must have stood still at a prompt that is known: an
	// editor may pause for a moment between a key and what it draws (irb).
	timerStand = 2 * time.Millisecond
	// timerRest is how long a program that waits for the terminal and for
	// timers of its own must have stood still to be taken for asking.
	timerRest = 300 * time.Millisecond
	// tickRest is the same for one that looks around in between.
	tickRest = time.Second
	// clearRest is how long a shell may take to drop what stands behind its
	// prompt, before it is told again.
	clearRest = 200 * time.Millisecond
)

// lookPause bounds how often the kernel is asked: in a flood a probe costs more
// than a turn. Where a shell tells of the end it is asked only for questions,
// and not before tellPause.
const (
	lookPause = time.Millisecond
	tellPause = 20 * time.Millisecond
	// breath is how long a program that has just written something is left
	// alone: most likely it goes on.
	breath = 150 * time.Microsecond
)

// drive brings a cell to its end: it waits until the program can take the
// code, sends it, and watches for the end.
func (r *running) drive() {
	h := r.cells.h
	check := h.newReadyCheck()
	pause := time.NewTimer(lastProbePause)
	defer pause.Stop()
	r.turn.poke() // the first look is now
	sent := r.isSent()
	probed := -lookPause
	var short time.Duration // how long to nap before the next look
	for {
		if short > 0 {
			nap(short)
			short = 0
			r.turn.poke()
		}
		select {
		case <-r.turn.moved:
		case <-pause.C:
		case <-r.hookEnded():
			r.finishHook()
			return
		case <-h.ending:
			r.finishExit()
			return
		case <-h.stopCells: // the host replaces its binary, and takes the cell along
			if r.turn.hook != nil {
				r.turn.hook.close()
			}
			return
		}
		s, activity := r.see()
		if !sent && r.cells.restsSince(activity) {
			s.ready = true
		} else if wait := r.probeAfter(s, sent, probed); wait == 0 {
			s.probeBy(check, activity)
			probed = h.core.clock()
			s.shellRuns = s.probe.State == pty.Busy && s.probe.PID == h.manifest().PID
			if s.ready {
				h.core.atRest(activity)
				s.foreign = false
			}
		} else if !s.told(sent) {
			short = pauseFor(pause, wait)
			continue
		}
		switch {
		case !sent:
			if !r.isPressed() && (!s.can() || r.clearing(s)) {
				break
			}
			if sent = r.markSent(); !sent { // nothing was sent, and nothing will be
				r.finish(cell.Result{Status: cell.Failed})
				return
			}
			r.send(s)
		case r.over(s):
			return
		}
		if r.isFinal() { // it could not be sent
			return
		}
		short = pauseFor(pause, check.backoff())
	}
}

// precise is the shortest pause that Go's own timers keep on Linux: when nothing
// else runs they wait in whole milliseconds.
const precise = time.Millisecond

// pauseFor sets the timer, unless the pause is too short for one: then it is
// returned, to be slept.
func pauseFor(t *time.Timer, d time.Duration) (short time.Duration) {
	if d < precise {
		return d
	}
	t.Reset(d)
	return 0
}

func (r *running) isSent() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.sent
}

func (r *running) isFinal() bool {
	res, _ := r.look()
	return res.Final()
}

func (r *running) isPressed() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.pressed
}

func (r *running) isInterrupted() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.interrupted
}

// markSent notes that from now on Ctrl-C must reach the program. It reports
// false if somebody interrupted the cell before.
func (r *running) markSent() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.sent = !r.pressed
	return r.sent
}

// hookEnded is nil, and blocks for ever, where no hook runs.
func (r *running) hookEnded() <-chan struct{} {
	if r.turn.hook == nil {
		return nil
	}
	return r.turn.hook.ended
}
