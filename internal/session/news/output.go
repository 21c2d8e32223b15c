package news

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"den/internal/session"
	"den/internal/session/cell"
)

// addResults puts the result of a cell to the last of its events: the earlier
// ones are over.
func (c *collector) addResults(ctx context.Context) error {
	last := map[string]int{}
	for i, e := range c.events {
		if id := e.cell(); id != "" {
			last[id] = i
		}
	}
	cut := c.req.Cut
	cut.MaxBytes /= max(1, len(last))
	for i := range c.events {
		e := &c.events[i]
		id := e.cell()
		var err error
		switch {
		case id != "" && last[id] == i:
			err = e.addResult(ctx, cut)
		case e.Status == cell.Asking:
			e.Past = true
		case id == "" && (e.Status == Text || e.Status == Idle || e.Status == Waiting):
			e.addScreen(ctx, cut)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addResult sets the cell's result as it is now, with what is new of its output.
func (e *Event) addResult(ctx context.Context, cut session.Run) error {
	src := e.of
	r, err := src.s.Poll(e.CellID)
	if err == nil && !r.Final() && (!r.Asks() || r.OutputFile == "" && (cut.MaxLines > 0 || cut.MaxBytes > 0)) {
		r, err = src.s.Peek(ctx, e.CellID, cut) // a record of code that runs has no output yet
	}
	if err != nil {
		src.warn(err) // the event is all there is
		return nil
	}
	if e.Status == cell.Asking && (!r.Asks() || r.Question != e.Question) {
		e.Past, r.WaitingFor, r.Question, r.InnerShell = true, e.WaitingFor, e.Question, false // another one may be asked by now
	}
	if e.ExitCode == nil {
		e.ExitCode = r.ExitCode
	}
	read := src.skipShown(r)
	e.Continued = read > 0
	if r, err = src.s.Part(r, cut, read); err != nil {
		return err
	}
	e.Result = &r
	return nil
}

// skipShown returns how much of the output was told before, and keeps how much is
// told now. Output that is not whole, or that its program has changed since, is
// told whole.
func (src *source) skipShown(r cell.Result) (read int) {
	before := src.place.Shown
	src.place.Shown = nil
	if r.Truncated {
		return 0
	}
	if !r.Final() && r.Output != "" {
		src.place.Show(r.CellID, r.Output)
	}
	if before == nil || before.Cell != r.CellID || len(r.Output) < before.Bytes || sum(r.Output[:before.Bytes]) != before.Sum {
		return 0
	}
	return before.Bytes
}

// Show keeps that a caller was told this output of a cell in another answer.
func (p *Place) Show(id, output string) {
	p.Shown = &Shown{Cell: id, Bytes: len(output), Sum: sum(output)}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:8])
}

// addScreen sets what the session shows.
func (e *Event) addScreen(ctx context.Context, cut session.Run) {
	shot, err := e.of.s.PlainSnapshot(ctx, session.Now())
	if err != nil {
		e.of.warn(err)
		return
	}
	text := strings.TrimRight(shot.Screen.Text, "\n ")
	if cut.Only != nil {
		lines := strings.Split(text, "\n")
		text = strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !cut.Only.MatchString(line) }), "\n")
	}
	e.Screen, _ = cell.Cut(text, cut.MaxLines)
}
