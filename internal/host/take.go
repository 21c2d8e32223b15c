package host

import (
	"strings"

	"den/internal/cell"
	"den/internal/screen"
)

// beforePrompt is where the output ends on a last line that a program left at
// col: a program that was killed at its prompt had printed that too.
func (r *running) beforePrompt(last string, col int) int {
	p := r.prompt
	switch {
	case r.byShell || p.text == "":
		return col
	case cell.SamePrompt(last, p.text):
		return 0
	case strings.HasSuffix(last, p.text):
		return max(col-p.col, 0)
	}
	return col
}

// takeOrSkip takes what the last line of code printed. A program that asks for
// more of an input has run nothing yet: what changed is its editor's.
func (r *running) takeOrSkip(s seen) {
	if !r.redraws(s) || !cell.IsContinuation(s.prompt.text, r.prompt.text) {
		r.takeLine(s)
		return
	}
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	r.turn.take = nil
}

// takeLine takes what the last line of code printed: all before the prompt.
func (r *running) takeLine(s seen) {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.turn.take == nil {
		return
	}
	col := 0
	if p := r.prompt; p.text != "" && s.prompt.text != p.text && strings.HasSuffix(s.prompt.text, p.text) && !cell.IsContinuation(s.prompt.text, p.text) {
		col = s.prompt.col - p.col // output without a newline stands before it
	}
	r.turn.take.Finish(c.term, s.line, max(col, 0))
	r.turn.take = cell.NewCollector(r.turn.sink, s.line, s.prompt.col)
}

// setWaiting notes what the program waits for, "" for nothing.
func (r *running) setWaiting(what string) {
	res, _ := r.look()
	if res.WaitingFor == what {
		return
	}
	text := r.outputSoFar()
	r.update(func(rec *cell.Record) {
		rec.WaitingFor = what
		if what != "" {
			rec.Output = text
		}
	})
}

// finishExit ends the cell with its session.
func (r *running) finishExit() {
	c := r.cells.h.core
	exit := r.cells.h.proc.exit()
	c.mu.Lock()
	if r.turn.take != nil && !r.turn.over {
		cur := c.term.Cursor()
		r.turn.take.Finish(c.term, c.term.ScreenLine()+int64(cur.Row), r.beforePrompt(cell.PromptAt(c.term), cur.Col))
	}
	c.mu.Unlock()
	code := exit.Code
	r.finish(cell.Result{Status: cell.Done, By: cell.ByExit, ExitCode: &code})
}

// outputSoFar is what the cell printed up to now, without disturbing it.
func (r *running) outputSoFar() string {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.turn.take == nil || r.turn.over {
		return r.turn.sink.SoFar("")
	}
	if c.term.Modes().AltScreen { // all of it is the program's
		return r.turn.sink.SoFar(strings.TrimRight(screen.Text(c.term), "\n "))
	}
	cur := c.term.Cursor()
	rest := r.turn.take.Peek(c.term, c.term.ScreenLine()+int64(cur.Row), cur.Col)
	return r.turn.sink.SoFar(rest)
}
