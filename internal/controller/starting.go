package controller

import (
	"context"
	"errors"
)

// Why a start is cancelled.
var (
	errUnwanted  = errors.New("it is not wanted any more")
	errRestarted = errors.New("a restart was asked for")
)

// beginStart returns a context for a start, which ends when the agent is not
// wanted any more. end is called when the start is over.
func (w *worker) beginStart(ctx context.Context) (sctx context.Context, end func()) {
	sctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelStart = cancel
	if !w.desired.run { // since it was decided
		cancel(errUnwanted)
	}
	return sctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cancelStart = nil
		cancel(nil)
	}
}

// cancelStartLocked ends a start that is under way, if one is.
func (w *worker) cancelStartLocked(why error) {
	if w.cancelStart != nil {
		w.cancelStart(why)
	}
}
