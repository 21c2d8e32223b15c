package host

import (
	"den/internal/session/cell"
)

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
