package host

import (
	"context"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// setWaiting records what the program waits for, or "". A program that waits
// again behind an answer asks the next question, and so does one that shows
// another question, as behind a read with a time limit. Every question is
// logged.
func (r *running) setWaiting(what string, o cell.Observed) {
	if !r.isNews(what, o) {
		return
	}
	text := r.outputSoFar()
	var asked *cell.Result
	r.update(func(rec *cell.Record) {
		if o.Inputs < r.life.Answered {
			return // it was answered meanwhile
		}
		r.life.Asked, r.life.AskedAt = o.Inputs, o.Line
		rec.WaitingFor, rec.Question, rec.Certainty = what, "", ""
		if what != "" {
			rec.Certainty = o.Sure()
			rec.Output, rec.Question = text, strings.TrimSpace(o.Left.Text)
			res := rec.Result
			asked = &res
		}
	})
	if asked != nil { // after the record, so that who hears of it finds the question
		r.cells.event(cell.Asking, *asked, "")
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
	return !o.AltScreen && (r.life.AskedAt != o.Line || !sameQuestion(rec.Question, o.Left.Text))
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
	r.life.Answered = inputs
	asking := r.life.Record.WaitingFor != "" && r.life.Asked < inputs
	r.cells.mu.Unlock()
	if !asking {
		return
	}
	r.update(func(rec *cell.Record) {
		if r.life.Asked < inputs {
			rec.WaitingFor, rec.Question, rec.Certainty = "", "", ""
		}
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
	if req.Question != "" && !sameQuestion(req.Question, res.Question) {
		return cell.Result{}, otherQuestion(r.id, res.Question)
	}
	typed, err := cs.h.send([]wire.Input{req.Input}, typist{foreign: true, question: &res.Question})
	switch {
	case err != nil:
		return cell.Result{}, err
	case typed.Refused != "":
		now := r.within(ctx, askPatience, func(now cell.Result) bool { return now.Final() || now.Question != res.Question })
		return cell.Result{}, otherQuestion(r.id, now.Question)
	}
	r.noteAnswer(cs.h.core.inputs())
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// otherQuestion is the error of an answer to a question that is no longer
// asked.
func otherQuestion(id, question string) error {
	return fault.Hintf(fault.Errorf(fault.Busy, "nothing was typed: cell '%s' asks something else by now: %q", id, question), "'den poll' tells what it asks; 'den answer' answers that")
}

// asksOtherLocked reports whether the screen shows another question than this.
func (c *core) asksOtherLocked(question string) bool {
	return !c.term.Modes().AltScreen && !sameQuestion(question, cell.PromptAt(c.term))
}
