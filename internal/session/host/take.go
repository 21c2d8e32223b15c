package host

import (
	"strings"

	"den/internal/screen"
	"den/internal/session/cell"
)

// take collects or drops the output on the screen, as decided.
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

// outputSoFar returns the cell's output up to now. Collection is not affected.
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
