package host

import (
	"time"

	"den/internal/session/cell"
)

// drive runs a cell until it is over: it observes the program, decides
// (cell.Decide), and acts.
func (r *running) drive() {
	h := r.cells.h
	check := h.newReadyCheck()
	pause := time.NewTimer(lastProbePause)
	defer pause.Stop()
	r.turn.moved.Set() // the first look is now
	probed := h.core.clock() - time.Second
	var short time.Duration // how long to nap before the next look
	for {
		if short > 0 {
			nap(short)
			short = 0
			r.turn.moved.Set()
		}
		var hookEnded, exited bool
		select {
		case <-r.turn.moved:
		case <-pause.C:
		case <-r.hookEnded():
			hookEnded = true
		case <-h.ending:
			exited = true
		case <-r.released:
			r.endReleased()
			return
		case <-h.stopCells: // the host replaces its binary, and takes the cell along
			if r.turn.hook != nil {
				r.turn.hook.close()
			}
			return
		}
		o, activity := r.observe()
		if !o.Half.Empty() && (!o.Sent || len(r.state.Lines) > 0) {
			h.lookAtHalf(&o.Half)
		}
		switch wait := cell.ProbeAfter(r.cells.program, o, r.state, h.core.clock()-probed); {
		case hookEnded:
			o.HookEnded = true
		case exited:
			o.Exited, o.ExitCode = true, h.exit().Code
		case o.Ready: // as it was left
		case wait == 0:
			r.probe(&o, check, activity)
			probed = h.core.clock()
			r.restHook(o, activity)
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

// precise is the resolution of Go's timers on Linux: in an idle process they
// wait for whole milliseconds.
const precise = time.Millisecond

// pauseFor sets the timer for d. A pause too short for a timer is returned
// instead, for the caller to sleep.
func pauseFor(t *time.Timer, d time.Duration) (short time.Duration) {
	if d < precise {
		return d
	}
	t.Reset(d)
	return 0
}

// hookEnded returns a channel that is closed when the hook ends. It is nil if
// there is no hook.
func (r *running) hookEnded() <-chan struct{} {
	if r.turn.hook == nil {
		return nil
	}
	return r.turn.hook.ended
}

// observe collects what callers did, what the shell's marks say and what the
// screen shows. The kernel is queried separately, by probe, because that is
// expensive.
func (r *running) observe() (o cell.Observed, activity uint64) {
	cs, c := r.cells, r.cells.h.core
	cs.mu.Lock()
	o.Sent, o.Pressed, o.Interrupted = r.life.Sent, r.life.Pressed, r.life.Interrupted
	restedAt := cs.restedAt
	cs.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	cursor, modes := c.term.Cursor(), c.term.Modes()
	o.Shell, o.ShellEnded = c.shell, r.turn.Over
	o.Answered, o.Heard = c.OutputSeq != r.turn.SentSeq, c.OutputSeq != r.turn.LineSeq
	o.Quiet = c.clock() - max(c.LastOutput, c.LastInput)
	o.Left = cell.Prompt{Text: cell.PromptAt(c.term), Col: cursor.Col}
	o.Line = c.term.ScreenLine() + int64(cursor.Row)
	o.Bracket, o.AltScreen = modes.BracketedPaste, modes.AltScreen
	o.CursorHidden = !cursor.Visible
	o.Foreign, o.Stray, o.Inputs = c.Foreign, c.Stray, c.Inputs
	o.Blank = o.Stray.Pending && c.inputBlankLocked()
	o.Half = cell.HalfLine{Text: string(c.Line.Text), Keys: c.Line.Keys}
	// The program was idle when the last cell ended, and nothing happened
	// since.
	o.Ready = !o.Sent && restedAt > 0 && restedAt == c.Activity
	return o, c.Activity
}

// probe asks the kernel.
func (r *running) probe(o *cell.Observed, check *readyCheck, activity uint64) {
	h := r.cells.h
	h.noteConsumed()
	o.Ready = check.seen(activity)
	o.Probe, o.Standing = check.last, check.stood()
	o.Own = o.Probe.PID == h.manifest().PID
	o.Asking = cell.IsAsking(o.Standing, check.ticked())
	if o.Ready {
		h.core.atRest(activity, h.lineMode())
		o.Foreign = false
	}
}
