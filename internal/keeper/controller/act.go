package controller

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"
)

// act does what the rule said.
func (w *worker) act(ctx context.Context, d decision) {
	switch d.do {
	case start:
		w.start(ctx, d)
	case stop:
		w.stop(ctx, d)
	case drain:
		w.drain(ctx, d)
	case undrain:
		w.undrain(ctx, d)
	case clean:
		w.clean(ctx)
	case report:
		now := w.c.clock()
		w.remember(func(m *memory) { m.Stalled, m.Active = true, now })
		w.event(keeper.EventStalled, d.why, map[string]any{"screen": w.screen(ctx)})
	}
}

func (w *worker) screen(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	text, err := w.sub().LastText(ctx, forensicLines)
	if err != nil {
		return "(not known: " + err.Error() + ")"
	}
	return text
}

// start brings the agent up. Only so many start at the same time.
func (w *worker) start(ctx context.Context, d decision) {
	sub, sctx, end := w.beginStart(ctx)
	defer end()
	slot := &Slot{slots: w.c.starting}
	if slot.Take(sctx) != nil {
		return // it is not wanted any more
	}
	defer slot.GiveBack()
	w.event(keeper.EventStarting, d.why, nil)
	begun := w.c.clock()
	limited, cancel := context.WithTimeout(sctx, w.rules().StartTimeout)
	err := sub.Start(limited, slot)
	cancel()
	if ctx.Err() != nil {
		return // the next keeper sees what came of it
	}
	if err != nil && sctx.Err() != nil {
		w.remember(func(m *memory) {
			m.begunAnew()
			m.Left = true // cleaned before anything else
		})
		w.event(keeper.EventStartCancelled, context.Cause(sctx).Error(), nil)
		return
	}
	now := w.c.clock()
	switch {
	case fault.KindOf(err) == fault.Busy && w.mayRun(ctx, sub):
		// It runs already: the next look adopts it.
		w.remember((*memory).begunAnew)
		return
	case isPrepareFailure(err):
		w.prepareFailed(err, now, begun)
		return
	case err != nil:
		w.startFailed(err, now, begun)
		return
	}
	w.remember(func(m *memory) {
		m.begunAnew()
		m.Up, m.Left, m.Started, m.ExitCode, m.PrepareFailures = true, false, now, nil, 0
	})
	detail := map[string]any{"session": sub.Session(), "took_ms": now.Sub(begun).Milliseconds()}
	if r, ok := sub.(Reporter); ok {
		for step, outcome := range r.StartReport() {
			detail[step] = outcome
		}
	}
	w.event(keeper.EventStarted, d.why, detail)
}

// mayRun reports whether the agent runs, or nobody knows. What else was busy, as
// a branch, is the start's failure.
func (w *worker) mayRun(ctx context.Context, sub Subject) bool {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	running, err := sub.Running(ctx)
	return running || err != nil
}

func (w *worker) startFailed(err error, now, begun time.Time) {
	is, rules, chance := w.sub().Identity(), w.rules(), w.c.jitter()
	// A command that is done before its start is, is done: a short job has run.
	var ended interface{ ExitCode() *int }
	if errors.As(err, &ended) && ended.ExitCode() != nil && rules.Restart.final(ended.ExitCode()) {
		code := ended.ExitCode()
		w.remember(func(m *memory) {
			m.begunAnew()
			m.finish(is, code)
		})
		w.event(keeper.EventExited, "its command ended", map[string]any{"exit_code": *code, "ran_ms": now.Sub(begun).Milliseconds()})
		return
	}
	quarantined := false
	m := w.remember(func(m *memory) {
		m.begunAnew()
		quarantined = m.failed(cause(err), is, rules, now, chance)
		m.LastOutput = lastLines(lastText(err))
	})
	w.event(keeper.EventStartFailed, err.Error(), map[string]any{"failures": m.Failures, "took_ms": now.Sub(begun).Milliseconds()})
	w.tellQuarantine(quarantined, m)
}

// tellQuarantine tells it of an agent that has just failed too often.
func (w *worker) tellQuarantine(begun bool, m memory) {
	if begun {
		w.event(keeper.EventQuarantined, "it failed too often", map[string]any{"until": m.QuarantinedUntil})
	}
}

// cause is why a start failed, without the name of the agent: it is shown beside
// that, and often cut.
func cause(err error) string {
	var start interface{ Cause() string }
	if errors.As(err, &start) {
		return start.Cause()
	}
	return err.Error()
}

// lastText is what an agent showed last whose start failed, "" where that is
// not known.
func lastText(err error) string {
	var start interface{ LastText() string }
	if errors.As(err, &start) {
		return start.LastText()
	}
	return ""
}

// stop ends the agent: first it is interrupted, so that it can save its work,
// and what is left after a while is ended by force.
func (w *worker) stop(ctx context.Context, d decision) {
	w.event(keeper.EventStopping, d.why, nil)
	w.remember(func(m *memory) { m.Up, m.Left = false, true }) // from here on its end is ours
	if err := w.end(ctx); err != nil {
		w.stopFailed(ctx, err)
		return
	}
	_, code, _ := w.forensics(ctx)
	again := d.actual == keeper.Stopping && w.wantsRun()
	is, rules, now, chance := w.sub().Identity(), w.rules(), w.c.clock(), w.c.jitter()
	quarantined := false
	m := w.remember(func(m *memory) {
		m.begunAnew()
		m.Left, m.Started, m.ExitCode = false, time.Time{}, code
		if again {
			m.Restarts++
		}
		if d.stalled {
			quarantined = m.failed("it stalled", is, rules, now, chance)
			m.FailedByStall = true
		}
	})
	w.event(keeper.EventStopped, d.why, nil)
	w.tellQuarantine(quarantined, m)
}

// stopFailed tells it. The agent may still run: the next look tells. It comes
// after a pause, so that nothing spins.
func (w *worker) stopFailed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	w.event(keeper.EventStopFailed, err.Error(), nil)
	_ = poll.Pause(ctx, time.Second)
}

// clean ends what an agent left behind that ended by itself: children, or a
// session that stands while the agent's processes are gone.
func (w *worker) clean(ctx context.Context) bool {
	if err := w.sub().Stop(ctx); err != nil {
		w.stopFailed(ctx, fmt.Errorf("end what it left behind: %w", err))
		return false
	}
	w.remember(func(m *memory) { m.Left = false })
	return true
}

func (w *worker) wantsRun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.desired.run
}

// end interrupts, waits, and stops. The stop comes in any case: an agent that
// ended by itself may have left processes behind.
func (w *worker) end(ctx context.Context) error {
	if patience := w.rules().ShutdownTimeout; patience > 0 && w.sub().Interrupt(ctx) == nil {
		w.endsWithin(ctx, patience)
	}
	if err := w.sub().Stop(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if s, ok := w.sub().(Seer); ok {
		if err := s.Seen(w.c.clock()); err != nil {
			log.Printf("%s was ended: %v", w.name(), err) // it is listed once more than it should
		}
	}
	return nil
}

// endsWithin waits for the agent's own end. One that waits for its user again
// has heard the interrupt and will not end of itself.
func (w *worker) endsWithin(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sub := w.sub()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		if running, err := sub.Running(ctx); err == nil && !running || sub.Ready(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		case <-time.After(pause):
		}
	}
}

func (w *worker) drain(ctx context.Context, d decision) {
	since := w.c.clock()
	w.remember(func(m *memory) { m.Drain = &drainMemory{Since: since, Why: d.why} })
	w.event(keeper.EventDraining, d.why, map[string]any{"deadline": since.Add(w.rules().DrainTimeout)})
	if err := w.sub().Drain(ctx, d.why); err != nil && ctx.Err() == nil {
		log.Printf("ask %s to finish: %v", w.name(), err) // the deadline still comes
	}
}

func (w *worker) undrain(ctx context.Context, d decision) {
	w.remember(func(m *memory) { m.Drain = nil })
	w.event(keeper.EventUndrained, d.why, nil)
	if err := w.sub().Undrain(ctx); err != nil && ctx.Err() == nil {
		log.Printf("tell %s to go on: %v", w.name(), err)
	}
}

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
