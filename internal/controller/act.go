package controller

import (
	"context"
	"fmt"
	"time"

	"den/internal/fault"
	"den/internal/keeper"
)

// act does what the rule said.
func (w *worker) act(ctx context.Context, v verdict) {
	switch v.do {
	case start:
		w.start(ctx, v)
	case stop:
		w.stop(ctx, v)
	case drain:
		w.drain(ctx, v)
	case undrain:
		w.undrain(ctx, v)
	case report:
		m := w.recall()
		m.Stalled, m.Active = true, w.c.clock()
		w.remember(m)
		w.event(evStalled, v.why, map[string]any{"screen": w.screen(ctx)})
	}
}

func (w *worker) recall() memory {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory
}

func (w *worker) screen(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	text, err := w.sub().Peek(ctx, forensicLines)
	if err != nil {
		return "not to be had: " + err.Error()
	}
	return text
}

// start brings the agent up. Only so many start at the same time.
func (w *worker) start(ctx context.Context, v verdict) {
	select {
	case w.c.starting <- struct{}{}:
		defer func() { <-w.c.starting }()
	case <-ctx.Done():
		return
	}
	w.event(evStarting, v.why, nil)
	begun := w.c.clock()
	sctx, cancel := context.WithTimeout(ctx, w.rules().StartTimeout)
	err := w.sub().Start(sctx)
	cancel()
	if ctx.Err() != nil {
		return // the next keeper sees what came of it
	}
	m := w.recall()
	now := w.c.clock()
	m.RestartAsked, m.Drain, m.Stalled = false, nil, false
	switch {
	case fault.KindOf(err) == fault.Busy:
		// It runs already: the next look adopts it.
		w.remember(m)
		return
	case err != nil:
		quarantined := m.failed(err.Error(), w.rules(), now, w.c.jitter())
		w.remember(m)
		w.event(evStartFailed, err.Error(), map[string]any{"failures": m.Failures, "took_ms": now.Sub(begun).Milliseconds()})
		if quarantined {
			w.event(evQuarantined, "it failed too often", map[string]any{"until": m.QuarantinedUntil})
		}
		return
	}
	m.Up, m.Started, m.ExitCode = true, now, nil
	w.remember(m)
	detail := map[string]any{"session": w.sub().Session(), "took_ms": now.Sub(begun).Milliseconds()}
	if r, ok := w.sub().(Reporter); ok {
		for step, outcome := range r.StartReport() {
			detail[step] = outcome
		}
	}
	w.event(evStarted, v.why, detail)
}

// stop ends the agent: first it is interrupted, so that it can save its work,
// and what is left after a while is ended by force.
func (w *worker) stop(ctx context.Context, v verdict) {
	w.event(evStopping, v.why, nil)
	m := w.recall()
	m.Up = false // from here on its end is ours
	w.remember(m)
	if err := w.end(ctx); err != nil {
		if ctx.Err() != nil {
			return
		}
		w.event(evStopFailed, err.Error(), nil)
		// It may still run: the next look tells. Do not spin on it.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return
	}
	m = w.recall()
	m.RestartAsked, m.Drain, m.Stalled, m.Started = false, nil, false, time.Time{}
	if v.actual == keeper.Stopping && w.wishes() {
		m.Restarts++
	}
	w.forensics(ctx, &m)
	w.remember(m)
	w.event(evStopped, v.why, nil)
}

func (w *worker) wishes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wish.run
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

func (w *worker) drain(ctx context.Context, v verdict) {
	m := w.recall()
	m.Drain = &drainMemory{Since: w.c.clock(), Why: v.why}
	w.remember(m)
	w.event(evDraining, v.why, map[string]any{"deadline": m.Drain.Since.Add(w.rules().DrainTimeout)})
	if err := w.sub().Drain(ctx, v.why); err != nil && ctx.Err() == nil {
		w.c.trouble("ask "+w.name+" to finish", err) // the deadline still comes
	}
}

func (w *worker) undrain(ctx context.Context, v verdict) {
	m := w.recall()
	m.Drain = nil
	w.remember(m)
	w.event(evUndrained, v.why, nil)
	if err := w.sub().Undrain(ctx); err != nil && ctx.Err() == nil {
		w.c.trouble("tell "+w.name+" to go on", err)
	}
}
