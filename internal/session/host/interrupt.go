package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/process/pty"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// A cell that is about to end gets intGrace to do so before Ctrl-C is pressed,
// and what it started as long to end with it. A program without a cell gets
// intRest to become idle: otherwise Ctrl-C could hit the next command, and some
// programs then defer it until the next line is typed (Python, if the signal
// arrives while its line editor is busy). A cell gets intPatience to end where
// the caller sets no limit.
const (
	intPatience = 5 * time.Second
	intGrace    = 20 * time.Millisecond
	intRest     = 200 * time.Millisecond
)

// interrupt presses Ctrl-C once and waits until the cell ends, the program asks
// something, or the limit has passed. Code that was not sent yet will not be.
// Interrupts of one session take turns.
func (cs *cells) interrupt(ctx context.Context, req wire.Interrupt) (cell.Result, error) {
	limit := cmp.Or(req.Timeout, intPatience)
	r := cs.current()
	select {
	case cs.interrupting <- struct{}{}:
		defer func() { <-cs.interrupting }()
	case <-ctx.Done():
		return cell.Result{}, ctx.Err()
	}
	if r == nil {
		cs.awaitRest(ctx, intRest)
		_, err := cs.press(nil)
		return cell.Result{}, err
	}
	r.join()
	defer r.addAwaited(-1)
	r.takes(cell.Limit{Lines: req.MaxLines, Bytes: req.MaxBytes})
	res := r.within(ctx, intGrace, cell.Result.Final)
	if !res.Final() {
		var err error
		if res, err = cs.interruptCell(ctx, r, limit); err != nil {
			return cell.Result{}, err
		}
	}
	cs.h.core.noteTold()
	if res.Final() {
		res.Left = r.left(ctx)
	}
	return res, nil
}

func (cs *cells) current() *running {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.active
}

func (cs *cells) interruptCell(ctx context.Context, r *running, limit time.Duration) (cell.Result, error) {
	r.addHeeding(1)
	defer r.addHeeding(-1)
	if r.markPressed() {
		if _, err := cs.press(r); err != nil {
			return cell.Result{}, err
		}
	}
	res := r.within(ctx, limit, func(res cell.Result) bool { return res.Final() || res.Asks() })
	if res.Final() {
		return res, nil
	}
	cs.mu.Lock()
	r.life.Pressed, r.life.Interrupted = false, false // it goes on, and may end by itself
	cs.mu.Unlock()
	if res.Asks() || ctx.Err() != nil {
		return res, ctx.Err()
	}
	return res, fault.Hintf(fault.Errorf(fault.Busy, "cell '%s' has not ended %s after Ctrl-C: %s has the terminal", res.CellID, limit, cs.h.describeForeground()),
		"%s", waysOutAfterInt)
}

// markPressed records that the cell was interrupted. It reports whether its
// code was sent.
func (r *running) markPressed() (sent bool) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.life.Pressed, r.life.Presses = true, 0
	r.pass.moved.Set()
	return r.life.Sent
}

// press sends Ctrl-C to the program. It does nothing and reports over if r is
// no longer the active cell. What the cell asked counts as answered.
func (cs *cells) press(r *running) (over bool, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.active != r {
		return true, nil
	}
	hitOwn := 0
	if group, err := cs.h.tty.ForegroundGroup(); err == nil && group == cs.h.manifest().PID {
		hitOwn = pty.Ticks()
	}
	if _, err := cs.h.typeIn(wire.Input{Keys: []string{"C-c"}}, typist{foreign: true}); err != nil {
		return false, err
	}
	if r != nil {
		life := &r.life
		life.Interrupted, life.Presses, life.PressedAt, life.HitOwn = true, life.Presses+1, cs.h.core.clock(), hitOwn
		r.noteAnswerLocked(cs.h.core.inputs())
		r.pass.moved.Set()
	}
	return false, nil
}

// lostPress reports whether Ctrl-C hit the session's own program as it started
// the one in the foreground, which runs on.
func (r *running) lostPress(group int) bool {
	r.cells.mu.Lock()
	hitOwn := r.life.HitOwn
	r.cells.mu.Unlock()
	if hitOwn == 0 || group == 0 || group == r.cells.h.manifest().PID {
		return false
	}
	leader, runs := pty.Lookup(group)
	return runs && leader.Started <= hitOwn
}

// left lists the processes that the cell started and that outlived it. Those
// that Ctrl-C has hit may take a moment to end.
func (r *running) left(ctx context.Context) []cell.Process {
	h := r.cells.h
	r.cells.mu.Lock()
	begun := r.life.BegunTick
	r.cells.mu.Unlock()
	var found []cell.Process
	for end := time.Now().Add(intGrace); ; {
		found = found[:0]
		for _, pid := range h.tree.Processes() {
			if p, runs := pty.Lookup(pid); runs && p.Started >= begun && pid != h.tree.Leader() {
				found = append(found, cell.Process{PID: pid, Command: pty.CommandLine(pid)})
			}
		}
		if len(found) == 0 || !time.Now().Before(end) || poll.Pause(ctx, time.Millisecond) != nil {
			return found
		}
	}
}

// describeForeground names what is in the terminal's foreground.
func (h *Host) describeForeground() string {
	now := h.tty.Probe()
	if now.Command == "" {
		return now.Why
	}
	return fmt.Sprintf("'%s' (pid %d)", now.Command, now.PID)
}

// within returns the cell's state when it is as wanted, or after d, or when the
// host is about to replace its binary.
func (r *running) within(ctx context.Context, d time.Duration, wanted func(cell.Result) bool) cell.Result {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		res, changed := r.progress()
		if wanted(res) {
			return res
		}
		select {
		case <-changed:
		case <-t.C:
			return res
		case <-r.cells.h.upgrading:
			return res
		case <-ctx.Done():
			return res
		}
	}
}

// awaitRest waits until the program is idle, at most d.
func (cs *cells) awaitRest(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	check := cs.h.newReadyCheck()
	for !check.seen(cs.h.core.lastActivity()) {
		if poll.Pause(ctx, check.backoff()) != nil {
			return
		}
	}
}

// release ends the active cell and leaves its program as it is, so that the
// session can be used again.
func (cs *cells) release(ctx context.Context) (wire.Released, error) {
	r := cs.current()
	if r == nil {
		return wire.Released{}, fault.Errorf(fault.NotFound, "there is no active cell to release")
	}
	r.released.Set()
	if _, err := r.await(ctx, 0, false); err != nil {
		return wire.Released{}, err
	}
	now := cs.h.tty.Probe()
	return wire.Released{CellID: r.id, Status: string(cell.ByRelease), PID: now.PID, Command: now.Command, State: string(now.State), Why: now.Why}, nil
}

// endReleased ends the cell with the output so far.
func (r *running) endReleased() {
	o, _ := r.observe()
	if !o.AltScreen {
		r.take(cell.Take{What: cell.ToPlace, Line: o.Line, Col: o.Left.Col}, o)
	}
	problem := "released; in the foreground: " + r.cells.h.describeForeground()
	if !o.Sent {
		problem = "released; nothing was sent"
	}
	r.finish(cell.Result{Status: cell.Failed, By: cell.ByRelease}, problem)
}

// setWaiting records what the program waits for, or "". A program that waits
// again behind an answer asks the next question, and so does one that shows
// another question, as behind a read with a time limit. Every question is
// logged. One whose answer is known is answered instead.
func (r *running) setWaiting(what string, o cell.Observed) {
	if !r.isNews(what, o) || r.giveKnown(what, o) {
		return
	}
	now, inner := r.outputSoFar(), r.isInnerShell(what, o)
	var asked *cell.Result
	var told bool
	r.update(func(rec *cell.Record) {
		if o.Inputs < r.life.Answered {
			return // it was answered meanwhile
		}
		var question string
		if what != "" {
			question = r.question(o)
		}
		r.life.Asked, r.life.AskedAt, r.life.AskedLeft = o.Inputs, o.Line, strings.TrimSpace(o.Left.Text)
		rec.WaitingFor, rec.Question, rec.Certainty, rec.InnerShell = what, "", "", inner
		if what != "" {
			rec.Certainty = o.Sure()
			rec.ShowOutput(now)
			rec.Question, rec.AskedSeq = question, r.cells.h.core.position().Seq
			res := rec.Result
			asked, told = &res, r.heeding > 0
		}
	})
	if asked != nil { // after the record, so that who hears of it finds the question
		r.cells.event(cell.Asking, *asked, "", told)
	}
}

// isNews reports whether what the program waits for was not recorded yet.
// Full-screen programs draw all the time: of them only input makes it news.
func (r *running) isNews(what string, o cell.Observed) bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	rec := &r.life.Record
	switch {
	case rec.WaitingFor != what:
		return true
	case what == "" || r.life.Asked != o.Inputs:
		return what != ""
	}
	return !o.AltScreen && (r.life.AskedAt != o.Line || !sameQuestion(r.life.AskedLeft, o.Left.Text))
}

// sameQuestion reports whether two questions differ in numbers only: some count
// down.
func sameQuestion(a, b string) bool {
	return cell.SamePrompt(strings.TrimSpace(a), strings.TrimSpace(b))
}

// noteAnswer records that somebody answered: the question from before is no
// longer asked.
func (r *running) noteAnswer(inputs int) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.noteAnswerLocked(inputs)
}

func (r *running) noteAnswerLocked(inputs int) {
	r.life.Answered = inputs
	if r.life.Record.WaitingFor == "" || r.life.Asked >= inputs {
		return
	}
	r.updateLocked(func(rec *cell.Record) {
		rec.WaitingFor, rec.Question, rec.Certainty, rec.InnerShell = "", "", "", false
	})
}

func (c *core) inputs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Inputs
}

// askPatience is how long an answer waits for its question: a program that also
// waits for timers may look as if it worked for a moment.
const askPatience = 500 * time.Millisecond

// answer types the answer to the active cell's question and waits as run does.
func (cs *cells) answer(ctx context.Context, req wire.Answer) (cell.Result, error) {
	r := cs.current()
	if r == nil {
		return cell.Result{}, fault.Hintf(fault.Errorf(fault.NotFound, "there is no active cell to answer"), "'den type' types without one")
	}
	res := r.within(ctx, askPatience, func(res cell.Result) bool { return res.Final() || res.Asks() })
	switch {
	case res.Final():
		return cell.Result{}, fault.Hintf(fault.Errorf(fault.NotFound, "cell '%s' is over", r.id), "'den poll' has its result")
	case !res.Asks():
		return cell.Result{}, fault.Hintf(fault.Errorf(fault.Busy, "cell '%s' asks nothing now", r.id), "'den poll' tells how it goes; 'den type' and 'den keys' type anyway")
	}
	left, above := r.askedLeft(res.Question)
	if req.Question != "" && !sameQuestion(req.Question, res.Question) && !sameQuestion(req.Question, left) {
		return cell.Result{}, otherQuestion(r.id, res.Question)
	}
	if req.Hidden && cs.h.echoes(ctx, askPatience) {
		return cell.Result{}, fault.Errorf(fault.Denied, "nothing was typed: the terminal would show the answer to %q", res.Question)
	}
	if !req.Fire { // before the program reads it: it may end at once
		r.join()
		defer r.addAwaited(-1)
	}
	typed, err := cs.h.send([]wire.Input{req.Input}, typist{foreign: true, question: &left, above: above})
	switch {
	case err != nil:
		return cell.Result{}, err
	case typed.Refused != "":
		now := r.within(ctx, askPatience, func(now cell.Result) bool { return now.Final() || now.Question != res.Question })
		return cell.Result{}, otherQuestion(r.id, now.Question)
	}
	r.noteAnswer(cs.h.core.inputs())
	r.takes(cell.Limit{Lines: req.MaxLines, Bytes: req.MaxBytes})
	if req.Fire {
		return cell.Result{CellID: r.id, Status: cell.Fired}, nil
	}
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// echoes reports whether the terminal shows what is typed, and goes on doing so for
// d: a program may show its question first.
func (h *Host) echoes(ctx context.Context, d time.Duration) bool {
	for end := time.Now().Add(d); ; {
		echo, _, err := h.tty.Echo()
		if err != nil || !echo {
			return err != nil
		}
		if !time.Now().Before(end) || poll.Pause(ctx, time.Millisecond) != nil {
			return true
		}
	}
}

// otherQuestion is the error of an answer to a question that is no longer
// asked.
func otherQuestion(id, question string) error {
	return fault.Hintf(fault.Errorf(fault.Busy, "nothing was typed: cell '%s' asks something else by now: %q", id, question), "'den poll' tells what it asks; 'den answer' answers that")
}
