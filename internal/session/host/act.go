package host

import (
	"fmt"
	"strings"

	"den/internal/screen/keys"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

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
	case cell.Tell:
		r.setWaiting(a.WaitingFor, o)
	case cell.End:
		r.cells.leave(next.Learned, a, activity)
		r.finish(a.Result(), "")
		return true
	case cell.Refuse:
		r.finish(a.Result(), refusal(o, len(next.Lines)))
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
	keys := cell.ClearKeys(h.manifest().Command[0], inner, pasting)
	_, err := h.typeIn(wire.Input{Raw: keys}, typist{clears: true})
	return err
}

// refusal says why code was not sent.
func refusal(o cell.Observed, rest int) string {
	shown := strings.TrimSpace(o.Left.Text)
	switch {
	case o.Sent:
		return fmt.Sprintf("the rest was not sent (lines: %d): somebody typed meanwhile, and it would run with that; the input line shows %q", rest, shown)
	case o.Shell.Token == "" || o.Shell.Last == 'C':
		return fmt.Sprintf("nothing was sent: the program's input line shows %q, which no cell typed and nobody entered; 'den keys Enter' enters it, 'den keys C-u' or 'C-c' removes it in most programs", shown)
	}
	return fmt.Sprintf("nothing was sent: the shell's input line shows %q, and Ctrl-C does not empty it", shown)
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
	if a.First && r.cells.hook != "" && r.turn.hook == nil {
		hook, err := startHook(r.cells.hook, r.life.Record.Code)
		if err != nil {
			return false, err
		}
		r.turn.hook = hook
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

// expect tells the turn which echo to expect from the code about to be typed.
func (r *running) expect(a cell.Action, o cell.Observed) {
	c, t := r.cells.h.core, r.turn
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.NewCommand {
		t.Over, t.Ends = false, c.shell.Ends
	}
	if a.First {
		c.cell, t.SentSeq = t, c.OutputSeq
	}
	t.LineSeq = c.OutputSeq
	if !r.state.ByShell {
		t.prompt = r.state.Prompt.Text
	}
	if a.Input.Whole {
		t.TypedAt = &typedAt{o.Line, o.Left.Col, strings.Split(a.Input.Text, "\n")}
		return
	}
	t.take = cell.NewCollector(t.sink, o.Line, o.Left.Col)
	if a.Input.Redraws {
		t.take.ExpectRedrawn(a.Input.Text, r.state.Prompt.Text)
	} else {
		t.take.Expect(a.Input.Text)
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
