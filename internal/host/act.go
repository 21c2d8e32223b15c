package host

import (
	"fmt"
	"strings"

	"den/internal/cell"
	"den/internal/keys"
	"den/internal/wire"
)

// act carries out a decision and stores the next state. It reports whether the
// cell is over.
func (r *running) act(a cell.Action, next cell.State, o cell.Observed, activity uint64) (over bool) {
	if a.First && (!r.claimInput(o) || !r.markSent()) {
		return false // somebody typed or interrupted it meanwhile: that is decided next
	}
	r.state = next
	r.take(a.Take, o)
	var err error
	switch a.Do {
	case cell.Clear:
		err = r.clearInput()
	case cell.Type:
		err = r.enter(a, o)
	case cell.Tell:
		r.setWaiting(a.WaitingFor, o)
	case cell.End:
		r.cells.leave(next.Learned, a, activity)
		r.finish(a.Result(), "")
		return true
	case cell.Refuse:
		r.finish(a.Result(), refusal(o))
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
	keys := cell.ClearKeys(h.manifest().Command[0], h.core.pasting())
	_, err := h.typeIn(wire.Input{Raw: keys}, typist{clears: true})
	return err
}

// refusal says why code was not sent.
func refusal(o cell.Observed) string {
	return fmt.Sprintf("nothing was sent: the shell's input line shows %q, and Ctrl-C does not empty it", strings.TrimSpace(o.Left.Text))
}

// claimInput records that the shell's input is empty, so that only later input
// is stray. It returns false if there was some since the observation.
func (r *running) claimInput(o cell.Observed) bool {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Stray.Consumed(o.Stray.Count)
	return !c.Stray.Pending
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

// enter types code. Output from here on belongs to the cell.
func (r *running) enter(a cell.Action, o cell.Observed) error {
	if a.First && r.cells.hook != "" {
		hook, err := startHook(r.cells.hook, r.life.Record.Code)
		if err != nil {
			return err
		}
		r.turn.hook = hook
	}
	r.expect(a, o)
	return r.submit(a.Input)
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

// submit sends a text and Enter.
func (r *running) submit(in cell.Input) error {
	h := r.cells.h
	input := wire.Input{Text: &in.Text, Enter: true}
	switch in.Style {
	case cell.InBrackets:
		input = wire.Input{Raw: append(keys.Paste([]byte(in.Text), h.core.modes()), '\r')}
	case cell.AtOnce:
		input = wire.Input{Raw: append(keys.Text(in.Text), '\r')}
	}
	_, err := h.typeIn(input, typist{brisk: !in.Redraws})
	return err
}
