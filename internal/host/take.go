package host

import (
	"strings"

	"den/internal/cell"
	"den/internal/screen"
)

// take does with the output on the screen what was decided.
func (r *running) take(what cell.Take, o cell.Observed) {
	if what.What == cell.Nothing {
		return
	}
	c, t := r.cells.h.core, r.turn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case t.take == nil:
	case what.What == cell.Drop:
		t.take = nil
	default:
		t.take.Finish(c.term, what.Line, what.Col)
		t.take = cell.NewCollector(t.sink, o.Line, o.Left.Col)
	}
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

// outputSoFar is what the cell printed up to now, without disturbing it.
func (r *running) outputSoFar() string {
	c, t := r.cells.h.core, r.turn
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.take == nil || t.Over {
		return t.sink.SoFar("")
	}
	if c.term.Modes().AltScreen { // all of it is the program's
		return t.sink.SoFar(strings.TrimRight(screen.Text(c.term), "\n "))
	}
	cur := c.term.Cursor()
	rest := t.take.Peek(c.term, c.term.ScreenLine()+int64(cur.Row), cur.Col)
	return t.sink.SoFar(rest)
}
