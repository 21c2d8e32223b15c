package host

import (
	"time"

	"den/internal/cell"
)

// drive brings a cell to its end: it observes the program, lets the rule
// decide (cell.Decide), and acts.
func (r *running) drive() {
	h := r.cells.h
	check := h.newReadyCheck()
	pause := time.NewTimer(lastProbePause)
	defer pause.Stop()
	r.turn.poke() // the first look is now
	probed := h.core.clock() - time.Second
	var short time.Duration // how long to nap before the next look
	for {
		if short > 0 {
			nap(short)
			short = 0
			r.turn.poke()
		}
		var hookEnded, exited bool
		select {
		case <-r.turn.moved:
		case <-pause.C:
		case <-r.hookEnded():
			hookEnded = true
		case <-h.ending:
			exited = true
		case <-h.stopCells: // the host replaces its binary, and takes the cell along
			if r.turn.hook != nil {
				r.turn.hook.close()
			}
			return
		}
		o, activity := r.observe()
		switch wait := cell.ProbeAfter(r.cells.program, o, r.state, h.core.clock()-probed); {
		case hookEnded:
			o.HookEnded = true
		case exited:
			o.Exited, o.ExitCode = true, h.exit().Code
		case o.Ready: // as it was left
		case wait == 0:
			r.probe(&o, check, activity)
			probed = h.core.clock()
		case !o.Told():
			short = pauseFor(pause, wait)
			continue
		}
		if a, next := cell.Decide(r.cells.program, o, r.state); r.act(a, next, o, activity) {
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

// hookEnded is nil, and blocks for ever, where no hook runs.
func (r *running) hookEnded() <-chan struct{} {
	if r.turn.hook == nil {
		return nil
	}
	return r.turn.hook.ended
}
