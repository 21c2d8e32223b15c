package terminals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// Waiting says how long a call waits for running code, and who is told of it.
type Waiting struct {
	Timeout time.Duration
	// Now returns at once: Next tells what becomes of the code.
	Now bool
	// Report, or nil, is called with the last line of the screen now and then.
	Report func(line string)
}

// Result is what became of code.
type Result struct {
	Session string `json:"session"`
	Status  string `json:"status"` // the cell's, or Asking
	cell.Result
	// Continued says that Output goes on where the output of the client's last
	// call for the same code ended: what it has read is not sent twice.
	Continued bool   `json:"continued,omitempty"`
	Note      string `json:"note,omitempty"` // what to do next
}

// Asking is the status of code that waits for an answer.
const Asking = cell.Asking

// Run gives code to a terminal's program and waits until it is done, asks
// something, or time is up. Without a session it is the client's own shell.
func (c *Client) Run(ctx context.Context, ref, code string, w Waiting) (Result, error) {
	t, err := c.toRun(ctx, ref)
	if err != nil {
		return Result{}, err
	}
	return c.waitFor(ctx, t, w, func(run session.Run) (cell.Result, error) {
		run.Code = code
		do := t.s.Run
		if w.Now {
			do = func(ctx context.Context, run session.Run) (cell.Result, error) { return t.s.Fire(ctx, run.Code, 0) }
		}
		r, err := do(ctx, run)
		if fault.KindOf(err) == fault.Busy {
			err = explainBusy(t, err)
		}
		return r, err
	})
}

// enterLimit bounds the time that a shell takes to print its first marks.
const enterLimit = 10 * time.Second

// Enter gives up the code that a terminal runs, whose program goes on: what is run
// next goes to what that program reads, or to the shell or REPL that it started.
// With marks that is a shell at its prompt, and it is made to tell how its
// commands end. A password that is asked for is not given up.
func (c *Client) Enter(ctx context.Context, ref string, marks bool) error {
	t, err := c.toUse(ref)
	if err != nil {
		return err
	}
	defer c.begin(t)()
	c.tell(t, "")
	last, err := t.s.Poll("")
	if runs := err == nil && !last.Final(); runs && (!marks || !last.Asks()) {
		if _, err := t.s.Release(ctx); err != nil && fault.KindOf(err) != fault.NotFound { // it ended meanwhile
			return advise(err, nil)
		}
	}
	if !marks {
		return nil
	}
	_, err = t.s.Marks(ctx, enterLimit)
	return advise(err, hints{
		fault.Busy:        "type what it asks for, then run in the shell when snapshot shows its prompt",
		fault.Unsupported: "snapshot shows what it is; it must be bash, zsh or a POSIX shell at its prompt, or run with inner program",
	})
}

// Answer types the answer to what a terminal's code asks, and waits as Run
// does.
func (c *Client) Answer(ctx context.Context, ref string, in wire.Input, w Waiting) (Result, error) {
	t, err := c.toUse(ref)
	if err != nil {
		return Result{}, err
	}
	return c.waitFor(ctx, t, w, func(run session.Run) (cell.Result, error) {
		run.Question = c.told(t)
		r, err := t.s.Answer(ctx, in, run)
		return r, advise(err, hints{
			fault.NotFound: "nothing was typed; run gives the terminal code, type and keys type anyway",
			fault.Busy:     "nothing was typed; wait waits until it asks or is done, type and keys type anyway",
		})
	})
}

// Await goes on waiting for the code that a terminal runs. Of code that is done
// it returns the result.
func (c *Client) Await(ctx context.Context, ref string, w Waiting) (Result, error) {
	t, err := c.toLook(ref)
	if err != nil {
		return Result{}, err
	}
	return c.waitFor(ctx, t, w, func(run session.Run) (cell.Result, error) {
		r, err := t.s.Await(ctx, "", run)
		return r, advise(err, hints{fault.NotFound: "no code was run in this terminal: give a condition, such as text, ready or exit"})
	})
}

// waitFor calls what waits for code, and tells what became of it.
func (c *Client) waitFor(ctx context.Context, t *terminal, w Waiting, call func(session.Run) (cell.Result, error)) (Result, error) {
	defer c.begin(t)()
	defer c.report(ctx, []*terminal{t}, w.Report)()
	r, err := call(session.Run{Timeout: w.Timeout, NoWait: w.Now, MaxBytes: c.o.Limits.Output})
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{}, cancelled(t, ctx.Err())
	case err != nil:
		return Result{}, advise(err, nil)
	}
	c.tell(t, r.Question)
	res := resultOf(t, r)
	if r.Status != cell.Fired {
		c.skipShown(t, &res)
	}
	if r.Final() {
		c.have(t, r.CellID)
	}
	return res, nil
}

// cancelled says what became of the code of a call that was cancelled: nothing,
// it runs on.
func cancelled(t *terminal, err error) error {
	last, perr := t.s.Poll("")
	if perr != nil || last.Final() {
		return fmt.Errorf("the call was cancelled: %w", err)
	}
	return fault.Hintf(fmt.Errorf("the call was cancelled, and its code is still running in terminal '%s': %w", t.name, err),
		"wait goes on waiting for it, keys C-c interrupts it")
}

// explainBusy says what a terminal does that takes no code.
func explainBusy(t *terminal, err error) error {
	last, perr := t.s.Poll("")
	switch {
	case perr != nil || last.Final():
		return advise(err, nil)
	case last.Asks():
		hint := "answer answers it, keys C-c interrupts it, open opens another terminal"
		if isPrompt(last.Question) {
			hint = intoPrompt + "; " + hint
		}
		return fault.Hintf(fault.Errorf(fault.Busy, "nothing was sent: earlier code in terminal '%s' asks %q", t.name, last.Question), "%s", hint)
	}
	return fault.Hintf(fault.Errorf(fault.Busy, "nothing was sent: earlier code in terminal '%s' is still running", t.name),
		"wait goes on waiting for it, keys C-c interrupts it, open opens another terminal")
}

func resultOf(t *terminal, r cell.Result) Result {
	res := Result{Session: t.name, Status: string(r.Status), Result: r, Note: noteOn(r)}
	if r.Asks() && !r.Final() {
		res.Status = Asking
	}
	return res
}

// noteOn says what a caller can do next, or "".
func noteOn(r cell.Result) string {
	switch {
	case r.Status == cell.Fired:
		return "next tells what becomes of it"
	case r.InnerShell:
		return "a shell is at its prompt: run gives it code"
	case r.WaitingFor == cell.ForInput && isPrompt(r.Question):
		return intoPrompt + "; answer answers anything else"
	case r.WaitingFor == cell.ForInput:
		return "answer it with the tool answer"
	case r.WaitingFor == cell.ForContinuation:
		return "the code is not complete: give the rest with answer, or press C-c with keys"
	case r.WaitingFor == cell.ForProgram:
		return "the code is not sent yet: the program does not take any (a shell may still run its start-up files); wait goes on waiting"
	case r.Status == cell.TimedOut:
		return "still running: wait goes on waiting, keys C-c interrupts it"
	case r.Status == cell.Unsure:
		return "not certain: the program has been silent, and nothing says that it is done; snapshot shows its screen"
	case r.By == cell.ByRefusal:
		return "nothing was sent: snapshot shows what is there; type and keys reach it"
	}
	return ""
}

// intoPrompt is what to do at the prompt of a shell or REPL inside a program.
const intoPrompt = "if this is the prompt of a shell or REPL, run with inner gives it code"

// isPrompt reports whether a question ends as the prompts of shells and REPLs do.
func isPrompt(question string) bool {
	text := strings.TrimRight(question, " ")
	return text != "" && strings.ContainsAny(text[len(text)-1:], "$#%>")
}

// hints says what a client can do about errors of a kind.
type hints map[fault.Kind]string

// usual are the hints for errors of which the caller says nothing.
var usual = hints{
	fault.NotRunning:  "snapshot shows its last screen; open opens another terminal",
	fault.Unreachable: "close ends it",
	fault.Busy:        "try again in a moment",
}

// advise replaces hints that are for people at a command line.
func advise(err error, by hints) error {
	if err == nil {
		return nil
	}
	kind := fault.KindOf(err)
	hint, has := by[kind]
	if has {
		return fault.Hintf(err, "%s", hint)
	}
	if !strings.Contains(fault.HintOf(err), "den ") {
		return err
	}
	if hint, has = usual[kind]; has {
		return fault.Hintf(err, "%s", hint)
	}
	return fault.Errorf(kind, "%s", err.Error()) // without its hint
}
