package controller

import (
	"context"
	"errors"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
)

// Why a start is cancelled.
var (
	errUnwanted  = errors.New("it is not wanted any more")
	errRestarted = errors.New("a restart was asked for")
)

// beginStart returns the agent as it is started, whatever its configuration
// becomes meanwhile, and a context for the start, which ends when the agent is
// not wanted any more. end is called when the start is over.
func (w *worker) beginStart(ctx context.Context) (sub Subject, sctx context.Context, end func()) {
	sctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelStart, w.startedNow = cancel, w.subject
	if !w.desired.run { // since it was decided
		cancel(errUnwanted)
	}
	return w.subject, sctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cancelStart, w.startedNow = nil, nil
		cancel(nil)
	}
}

// startStep returns the step of the start that is under way, "" where none is
// or the agent does not tell.
func (w *worker) startStep() string {
	w.mu.Lock()
	sub := w.startedNow
	w.mu.Unlock()
	if r, ok := sub.(Reporter); ok {
		return r.StartStep()
	}
	return ""
}

// A Slot is the right to start an agent, of which there are few. A start gives
// it back while it only waits for something that is not the agent's, as for an
// image, and takes one again.
type Slot struct {
	slots chan struct{}
	held  bool // only the start's own goroutine asks
}

// Take waits for a slot.
func (s *Slot) Take(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		s.held = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// GiveBack lets another agent start. It does nothing where no slot is held.
func (s *Slot) GiveBack() {
	if s.held {
		s.held = false
		<-s.slots
	}
}

// prepareFailed notes that the place of the agent's session could not be made
// ready, as when an image cannot be pulled. That says nothing about the agent:
// it is tried again with a growing pause, and never put into quarantine.
func (w *worker) prepareFailed(err error, now, begun time.Time) {
	rules, chance := w.rules(), w.c.jitter()
	m := w.remember(func(m *memory) {
		m.begunAnew()
		m.notPrepared(cause(err), rules, now, chance)
	})
	w.event(keeper.EventPrepareFailed, err.Error(), map[string]any{"failures": m.PrepareFailures, "took_ms": now.Sub(begun).Milliseconds()})
}

// isPrepareFailure reports whether a start failed before there was anything of
// the agent.
func isPrepareFailure(err error) bool {
	var start interface{ PrepareFailed() bool }
	return errors.As(err, &start) && start.PrepareFailed() && fault.KindOf(err) != fault.Usage
}

// cancelStartLocked ends a start that is under way, if one is.
func (w *worker) cancelStartLocked(why error) {
	if w.cancelStart != nil {
		w.cancelStart(why)
	}
}
