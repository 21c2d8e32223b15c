package host

import (
	"cmp"
	"context"
	"log"
	"regexp"
	"strings"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// runKnowing is run with answers that are given to the questions that match,
// whoever waits for the cell.
func (cs *cells) runKnowing(ctx context.Context, req wire.RunKnowing) (cell.Result, error) {
	var known []cell.Known
	for _, k := range req.Known {
		pattern, err := regexp.Compile(k.Pattern)
		if err != nil {
			return cell.Result{}, fault.Errorf(fault.Usage, "read an answer's pattern: %w", err)
		}
		known = append(known, cell.Known{Name: k.Name, Pattern: pattern, Text: k.Text, Secret: k.Secret})
	}
	return cs.run(ctx, req.Run, known...)
}

// giveKnown answers what the program asks, if the answer is known. Such a question
// is in the log, and nobody waits for its answer.
func (r *running) giveKnown(what string, o cell.Observed) bool {
	if what != cell.ForInput {
		return false
	}
	r.cells.mu.Lock()
	asks := r.life.Record.Result
	if len(r.life.Known) == 0 || o.Inputs < r.life.Answered {
		r.cells.mu.Unlock()
		return false
	}
	asks.WaitingFor, asks.Certainty, asks.Question = what, o.Sure(), r.question(o)
	known := cell.KnownFor(asks, r.life.Known, asks.Answered)
	r.cells.mu.Unlock()
	if known == nil || known.Secret && r.cells.h.echoes(context.Background(), askPatience) {
		return false
	}
	left := strings.TrimSpace(o.Left.Text)
	shown := cmp.Or(left, asks.Question)
	typed, err := r.cells.h.send([]wire.Input{{Text: &known.Text, Enter: true}}, typist{foreign: true, question: &shown, above: left == ""})
	if err != nil {
		log.Printf("answer a question of cell '%s': %v", r.id, err)
		return false
	}
	if typed.Refused != "" {
		r.pass.moved.Set() // it asks something else by now: the next look tells
		return true
	}
	r.cells.event(cell.Asking, asks, "", true)
	r.update(func(rec *cell.Record) {
		r.life.Asked, r.life.AskedAt, r.life.AskedLeft = o.Inputs, o.Line, left
		r.life.Answered = r.cells.h.core.inputs()
		rec.WaitingFor, rec.Question, rec.Certainty = "", "", ""
		rec.Answered = append(rec.Answered, cell.Given{Question: asks.Question, Pattern: known.Name})
	})
	return true
}
