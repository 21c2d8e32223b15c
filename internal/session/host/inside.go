package host

import (
	"context"
	"strings"
	"time"

	"den/internal/base/ident"
	"den/internal/process/pty"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// lookInside asks the kernel what is in the foreground. The session's own shell that
// has lost its marks is left as it is.
func (r *running) lookInside(o *cell.Observed) {
	h := r.cells.h
	_, programs, err := h.tty.Foreground()
	if err != nil {
		return // nothing is known: no shell is there
	}
	own := h.manifest().PID
	o.LookInside(programs, own)
	if r.state.Bare && o.Inside.Process.PID == own {
		o.Inside = cell.Inside{}
	}
}

// innerReads reports whether the foreground waits for the terminal, which a shell
// inside the session's program, or what carries it, does at its prompt. A program
// that prints the marks of one does not. Where the kernel does not tell, the marks
// are believed.
func (h *Host) innerReads() bool {
	pid := h.core.localInner()
	if waits, known := h.tty.Reads(pid); pid != 0 && known {
		return waits && !h.tty.OutputPending()
	}
	now := h.tty.Probe()
	if pid != 0 { // that shell is gone: it is another one, which the kernel shows too, or none
		return now.State == pty.Ready
	}
	return now.State != pty.Busy || now.Outside
}

// localInner returns the inner shell that was asked last, if the kernel showed it,
// or 0.
func (c *core) localInner() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := &c.shell.Inquiry; q.Local {
		return q.Shell.PID
	}
	return 0
}

// askShell asks whether a shell inside the session's program reads. It returns
// false if somebody else typed since the observation.
func (r *running) askShell(o cell.Observed) (typed bool, err error) {
	h, nonce := r.cells.h, ident.New(time.Now())
	h.typing.Lock() // from the claim to the queue
	defer h.typing.Unlock()
	if !r.claimLocked(o) {
		return false, nil
	}
	h.core.inquire(nonce, o)
	return true, r.submitLocked(cell.Input{Text: cell.AskShell(nonce), Style: cell.AtOnce})
}

func (c *core) inquire(nonce string, o cell.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &c.shell.Inquiry
	q.Nonce, q.Answer, q.Shell, q.Local = nonce, "", o.Inside.Process, o.Inside.Evidence == cell.Reads
	q.Plain = q.Local && o.Probe.Canonical
}

// giveMarks types the code for the shell that answered. It waits for nothing else,
// so whatever somebody else typed has been read.
func (r *running) giveMarks(o cell.Observed) error {
	h := r.cells.h
	h.typing.Lock()
	defer h.typing.Unlock()
	return r.submitLocked(cell.Input{Text: h.core.marksFor(&r.state), Style: cell.AtOnce})
}

// marksFor returns the code for the shell that a cell asked, and settles the
// question.
func (c *core) marksFor(s *cell.State) string {
	token := c.marksToken()
	c.mu.Lock()
	defer c.mu.Unlock()
	line := s.MarkLine
	if s.MarkPrompt == "" { // another cell asked
		line = c.term.ScreenLine() + int64(c.term.Cursor().Row)
	}
	q := &c.shell.Inquiry
	code := q.InnerMarks(token, int(max(0, line-c.term.ScreenLine()))+1)
	q.Nonce, q.Answer, q.Deaf = "", "", false
	c.Foreign = false
	return code
}

// declined notes that what shows this prompt has made nothing of the question, or
// of the code, and is not asked again.
func (c *core) declined(given bool, o cell.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &c.shell.Inquiry
	q.Nonce, q.Answer, q.Deaf = "", "", q.Deaf || given
	q.Declined, q.AtPrompt = q.Shell, o.Left.Text
}

// bringMarks has the shell that reads the terminal now print marks.
func (cs *cells) bringMarks(ctx context.Context, req wire.BringMarks) (cell.Result, error) {
	r, _, err := cs.begin(wire.Run{KeepWaiting: true}, nil, true)
	if err != nil {
		return cell.Result{}, err
	}
	defer r.addAwaited(-1)
	return r.await(ctx, req.Timeout, false)
}

// isInnerShell reports whether what asks is the prompt of a shell inside the
// session's program, which gets its marks with the next cell.
func (r *running) isInnerShell(what string, o cell.Observed) bool {
	p := r.cells.program
	if what != cell.ForInput || p.NoInner || p.Hook || p.Prompt != "" {
		return false
	}
	if o.Inside == (cell.Inside{}) {
		r.lookInside(&o)
	}
	return o.AtInnerPrompt()
}

// leaveToShell releases the active cell if what it asks is the prompt of a shell
// inside the program, nobody waits for it, and nothing happened since: code that
// comes is for that shell.
func (cs *cells) leaveToShell(ctx context.Context) error {
	cs.mu.Lock()
	r := cs.active
	if r == nil || r.awaited > 0 || !r.life.Record.InnerShell || r.life.Record.WaitingFor != cell.ForInput {
		cs.mu.Unlock()
		return nil
	}
	asked, left := r.life.Asked, r.life.AskedLeft
	cs.mu.Unlock()
	if !cs.h.core.stillAsks(asked, left) {
		return nil
	}
	r.released.Set()
	_, err := r.await(ctx, 0, false)
	return err
}

// stillAsks reports whether nothing was typed since a question, and it stands.
func (c *core) stillAsks(inputs int, left string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Inputs == inputs && strings.TrimSpace(cell.PromptAt(c.term)) == left
}
