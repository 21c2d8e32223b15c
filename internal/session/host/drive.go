package host

import (
	"fmt"
	"strings"
	"time"

	"den/internal/screen/keys"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// drive runs a cell until it is over: it observes the program, decides
// (cell.Decide), and acts.
func (r *running) drive() {
	h := r.cells.h
	check := h.newReadyCheck()
	pause := time.NewTimer(lastProbePause)
	defer pause.Stop()
	r.pass.moved.Set() // the first look is now
	probed := h.core.clock() - time.Second
	var short time.Duration // how long to nap before the next look
	for {
		if short > 0 {
			nap(short)
			short = 0
			r.pass.moved.Set()
		}
		var hookEnded, exited bool
		select {
		case <-r.pass.moved:
		case <-pause.C:
		case <-r.hookEnded():
			hookEnded = true
		case <-h.ending:
			exited = true
		case <-r.released:
			r.endReleased()
			return
		case <-h.stopCells: // the host replaces its binary, and takes the cell along
			if r.pass.hook != nil {
				r.pass.hook.close()
			}
			return
		}
		o, activity := r.observe()
		if o.ShellEnded && o.Shell.AtPrompt() && !r.shellReads(activity) {
			if o.Quiet < promptSoon { // it is about to
				short = pauseFor(pause, promptPause)
				continue
			}
			// Whoever printed the prompt goes on.
			o.ShellEnded, o.Shell.Last = false, 'C'
		}
		if !o.Half.Empty() && (!o.Sent || len(r.state.Lines) > 0) {
			h.lookAtHalf(&o.Half)
		}
		switch wait := cell.ProbeAfter(r.cells.program, o, r.state, h.core.clock()-probed); {
		case hookEnded:
			o.HookEnded = true
			if last := r.pass.hook.read; last != nil {
				o.HookRead, o.HookLine, o.HookCol = true, last.at.Line, last.at.Col
			}
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
		if o.Settled() {
			h.core.settled(activity)
		}
		if cell.NeedsInside(r.cells.program, &o, &r.state) {
			r.lookInside(&o)
		}
		if a, next := cell.Decide(r.cells.program, o, r.state); r.act(a, next, o, activity) {
			return
		}
		short = pauseFor(pause, check.backoff())
	}
}

// A shell that shows its prompt reads promptSoon later. Until then it is looked
// at again and again.
const (
	promptSoon  = 20 * time.Millisecond
	promptPause = 50 * time.Microsecond
)

// shellReads reports whether the session's own shell waits for input, and has
// printed nothing since it was observed: only then a prompt and the end of a
// command are its own, and were not printed by a program. Where the kernel does not
// tell, the marks are believed.
func (r *running) shellReads(activity uint64) bool {
	h := r.cells.h
	if h.core.innerShell() {
		return h.innerReads() && h.core.lastActivity() == activity
	}
	switch waits, known := h.tty.Reads(h.manifest().PID); {
	case !known:
		return true
	case !waits || h.tty.OutputPending():
		return false
	}
	return h.core.lastActivity() == activity
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
	if r.pass.hook == nil {
		return nil
	}
	return r.pass.hook.ended
}

// observe collects what callers did, what the shell's marks say and what the
// screen shows. The kernel is queried separately, by probe, because that is
// expensive.
func (r *running) observe() (o cell.Observed, activity uint64) {
	cs, c := r.cells, r.cells.h.core
	cs.mu.Lock()
	o.Sent, o.Pressed, o.Interrupted = r.life.Sent, r.life.Pressed, r.life.Interrupted
	o.Presses, o.SincePress = r.life.Presses, cs.h.core.clock()-r.life.PressedAt
	restedAt := cs.restedAt
	cs.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	cursor, modes := c.term.Cursor(), c.term.Modes()
	o.Shell, o.ShellEnded = c.shell, r.pass.Over
	o.Answered, o.Heard = c.OutputSeq != r.pass.SentSeq, c.OutputSeq != r.pass.LineSeq
	o.Quiet = c.clock() - max(c.LastOutput, c.LastInput)
	o.Left = cell.Prompt{Text: cell.PromptAt(c.term), Col: cursor.Col}
	o.Line = c.term.ScreenLine() + int64(cursor.Row)
	o.Bracket, o.AltScreen = modes.BracketedPaste, modes.AltScreen
	o.Unusual = c.term.Unusual()
	o.CursorHidden, o.Drawn = !cursor.Visible, c.drawnLocked()
	// What the shell's editor is about to ask is answered before code is typed.
	o.Foreign = c.Foreign || c.shell.Elsewhere() && c.shell.Silent && c.shell.Asks && !c.editorAsked
	o.Stray, o.Inputs = c.Stray, c.Inputs
	o.Typed = c.Typed && c.shell.Last == 'C'
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
	o.LostPress = o.Interrupted && r.lostPress(o.Probe.Group)
	if o.Ready {
		h.core.atRest(activity, h.lineMode())
		o.Foreign = false
	}
}

// act carries out a decision and stores the next state. It reports whether the
// cell is over.
func (r *running) act(a cell.Action, next cell.State, o cell.Observed, activity uint64) (over bool) {
	if a.First && !r.markSent() {
		return false // somebody interrupted it meanwhile: that is decided next
	}
	before := r.state
	r.state = next
	if a.Do != cell.Type {
		r.take(a.Take, o)
	}
	var err error
	switch a.Do {
	case cell.Clear:
		err = r.clearInput()
	case cell.Type:
		var typed bool
		if typed, err = r.enter(a, o); !typed && err == nil { // somebody else typed meanwhile: that is decided next
			r.state = before
			r.unmarkSent(a.First)
		}
	case cell.Ask:
		var typed bool
		if typed, err = r.askShell(o); !typed && err == nil { // as below
			r.state = before
		}
	case cell.Give:
		err = r.giveMarks(o)
	case cell.Decline:
		r.cells.h.core.declined(before.MarksGiven(), o)
		r.pass.moved.Set() // the code goes in without marks
	case cell.Press:
		_, err = r.cells.press(r)
	case cell.Tell:
		r.setWaiting(a.WaitingFor, o)
	case cell.End:
		r.cells.leave(next.Learned, a, activity)
		r.finish(a.Result(), unsent(a, o))
		return true
	case cell.Refuse:
		r.finish(a.Result(), refusal(a.Because, o, next))
		return true
	}
	if err != nil {
		r.finish(cell.Result{Status: cell.Failed}, fmt.Sprintf("send failed: %v", err))
	}
	return err != nil
}

// clearInput presses the keys that empty the shell's input.
func (r *running) clearInput() error {
	h := r.cells.h
	inner, pasting := h.core.clearing()
	keys := cell.ClearKeys(h.manifest().Command[0], inner, pasting, r.state.LastClear())
	_, err := h.typeIn(wire.Input{Raw: keys}, typist{clears: true})
	return err
}

// unsent says what of an interrupted cell was not sent, or "".
func unsent(a cell.Action, o cell.Observed) string {
	switch {
	case a.Status != cell.Failed || a.By != cell.ByInt:
		return ""
	case o.Sent:
		return "interrupted: the rest was not sent"
	}
	return "interrupted: nothing was sent"
}

// refusal says why code was not sent.
func refusal(because cell.Because, o cell.Observed, next cell.State) string {
	shown, program := strings.TrimSpace(o.Left.Text), "the program"
	if o.Probe.Command != "" {
		program = fmt.Sprintf("'%s' (pid %d)", o.Probe.Command, o.Probe.PID)
	}
	switch {
	case because == cell.KeepsScreen:
		then := ""
		if o.Shell.Token != "" {
			then = ", and code is for the shell again when it has ended"
		}
		return fmt.Sprintf("nothing was sent: %s has the whole screen and shows no prompt that is known, so code would be keys to it; 'den type' and 'den keys' reach it%s", program, then)
	case because == cell.AsksTyped && shown == "":
		return fmt.Sprintf("nothing was sent: %s reads something that the terminal does not show, most likely a password; 'den type TEXT --enter' answers it, 'den int' interrupts it", program)
	case because == cell.AsksTyped:
		return fmt.Sprintf("nothing was sent: %s asks %q; 'den type TEXT --enter' answers it, 'den int' interrupts it", program, shown)
	case next.OnlyMarks || next.Marking != "" && !o.Sent:
		return fmt.Sprintf("nothing was sent: the program was asked for the marks of a shell, and gave none; it shows %q", shown)
	case o.Sent:
		return fmt.Sprintf("the rest was not sent (lines: %d): somebody typed meanwhile, and it would run with that; the input line shows %q", len(next.Lines), shown)
	case o.Shell.Token == "" || o.Shell.Last == 'C':
		return fmt.Sprintf("nothing was sent: the program's input line shows %q, which no cell typed and nobody entered; 'den keys Enter' enters it, 'den keys C-u' or 'C-c' removes it in most programs", shown)
	}
	return fmt.Sprintf("nothing was sent: the shell's input line shows %q, and Ctrl-C does not empty it; 'den keys C-u' does in most shells, and 'den keys Enter' then brings a new prompt", shown)
}

// claimLocked records that the input line is empty, so that only later input is
// stray. It returns false if there was some since the observation. The caller
// holds typing until it has typed.
func (r *running) claimLocked(o cell.Observed) bool {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Stray.Count != o.Stray.Count {
		return false
	}
	c.Stray.Pending = false
	return true
}

// markSent records that the code is being sent, so that an interrupt from now
// on goes to the program. It returns false if the cell was interrupted before.
func (r *running) markSent() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.life.Sent = !r.life.Pressed
	if r.life.Sent && r.life.Record.WaitingFor == cell.ForProgram {
		r.life.Record.WaitingFor = ""
	}
	return r.life.Sent
}

// unmarkSent records that the first input was not sent after all.
func (r *running) unmarkSent(first bool) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.life.Sent = r.life.Sent && !first
}

// leave keeps what an ending cell has learned about the program, for the next
// cell.
func (cs *cells) leave(learned cell.Prompt, a cell.Action, activity uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.learned = learned
	if a.Rests {
		cs.restedAt = activity
	}
	if a.LostMarks { // cells end in the other ways from now on
		cs.bare = true
		cs.h.core.forgetShell()
	}
}

func (c *core) forgetShell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shell = cell.ShellMarks{}
}

// enter types code. Output from here on belongs to the cell. It returns false
// if somebody else typed since the observation.
func (r *running) enter(a cell.Action, o cell.Observed) (typed bool, err error) {
	if a.First && r.cells.hook != "" && r.pass.hook == nil {
		hook, err := startHook(r.cells.hook, r.life.Record.Code, place{Line: o.Line, Col: o.Left.Col})
		if err != nil {
			return false, err
		}
		r.pass.hook = hook
	}
	h := r.cells.h
	h.typing.Lock() // from the claim to the queue
	defer h.typing.Unlock()
	if !r.claimLocked(o) {
		return false, nil
	}
	r.take(a.Take, o)
	r.expect(a, o)
	return true, r.submitLocked(a.Input)
}

// expect tells the pass which echo to expect from the code about to be typed.
func (r *running) expect(a cell.Action, o cell.Observed) {
	c, p := r.cells.h.core, r.pass
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.NewCommand {
		p.Over, p.Ends = false, c.shell.Ends
		if p.take != nil {
			p.take.Flush()
		}
	}
	if a.First {
		c.shell.Inquiry.Code = r.life.Record.Code
		c.cell, p.SentSeq, p.Lost = p, c.OutputSeq, c.term.LostRows()
	}
	p.LineSeq, p.Line = c.OutputSeq, o.Line
	if !r.state.ByShell {
		p.prompt = r.state.Prompt.Text
	}
	p.EchoLeft = nil
	if a.Input.Whole {
		p.TypedAt = &typedAt{o.Line, o.Left.Col, strings.Split(a.Input.Text, "\n")}
		return
	}
	p.take = cell.NewCollector(p.sink, o.Line, o.Left.Col, p.SentSeq)
	if a.Input.Redraws {
		p.take.ExpectRedrawn(a.Input.Text, r.state.Prompt.Text, strings.Split(r.life.Record.Code, "\n")...)
	} else {
		p.take.Expect(a.Input.Text)
		if r.state.ByShell && c.shell.NoEditor() {
			p.EchoLeft = []byte(a.Input.Text + "\r\n")
		}
	}
}

// submitLocked sends a text and Enter.
func (r *running) submitLocked(in cell.Input) error {
	h := r.cells.h
	input := wire.Input{Text: &in.Text, Enter: true}
	switch in.Style {
	case cell.InBrackets:
		input = wire.Input{Raw: append(keys.Paste([]byte(in.Text), h.core.modes()), '\r')}
	case cell.AtOnce:
		input = wire.Input{Raw: append(keys.Text(in.Text), '\r')}
	}
	_, err := h.sendLocked([]wire.Input{input}, typist{brisk: !in.Redraws})
	return err
}
