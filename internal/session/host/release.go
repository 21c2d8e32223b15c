package host

import (
	"context"
	"fmt"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// release ends the active cell and leaves its program as it is, so that the
// session can be used again.
func (cs *cells) release(ctx context.Context) (wire.Released, error) {
	r := cs.current()
	if r == nil {
		return wire.Released{}, fault.Errorf(fault.NotFound, "there is no active cell to release")
	}
	select {
	case r.released <- struct{}{}:
	default: // somebody else releases it
	}
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
	now := r.cells.h.tty.Probe()
	what := now.Why
	if now.Command != "" {
		what = fmt.Sprintf("'%s' (pid %d)", now.Command, now.PID)
	}
	problem := "released; in the foreground: " + what
	if !o.Sent {
		problem = "released; nothing was sent"
	}
	r.finish(cell.Result{Status: cell.Failed, By: cell.ByRelease}, problem)
}
