package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"den/internal/base/poll"
	"den/internal/keeper"
)

// observe asks all that the rule wants to know.
func (w *worker) observe(ctx context.Context) observed {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	w.mu.Lock()
	sub, next, p, want, draining, up := w.subject, w.next, w.policy, w.desired, w.memory.Drain != nil, w.memory.Up
	w.mu.Unlock()
	running, err := sub.Running(ctx)
	if err != nil {
		return observed{problem: err.Error()}
	}
	s := observed{known: true, running: running}
	if !running {
		return s
	}
	if !up {
		if s.partial, err = sub.StartUnfinished(ctx); err != nil {
			return observed{problem: err.Error()}
		}
	}
	if s.partial {
		return s // what else there is to know, its start tells
	}
	s.drift, err = drift(ctx, sub, next)
	if want.run && (len(s.drift) > 0 || p.IdleTimeout > 0 || p.StallRestart) {
		var herr error
		s.held, herr = sub.Held(ctx)
		err = errors.Join(err, herr)
	}
	if draining {
		var derr error
		s.drained, derr = sub.Drained(ctx)
		err = errors.Join(err, derr)
	}
	if p.IdleTimeout > 0 || p.StallTimeout > 0 {
		s.lastWrite, _ = sub.LastWrite(ctx) // zero: not known
	}
	if p.StallTimeout > 0 {
		s.ready = sub.Ready(ctx)
	}
	if err != nil {
		return observed{problem: err.Error()}
	}
	return s
}

// drift also sees an agent that should run in another place.
func drift(ctx context.Context, sub, next Subject) ([]string, error) {
	switch {
	case next.Place() != sub.Place():
		return []string{"provider"}, nil
	case next.Session() != sub.Session():
		return []string{"session name"}, nil
	}
	return next.Drift(ctx)
}

// noteChanges notes what happened without us: an agent that came up, or went.
func (w *worker) noteChanges(ctx context.Context, s observed) {
	now := w.c.clock()
	m := w.forgetChanged()
	stable := w.rules().stableAfter(m)
	switch {
	case !s.known:
		w.event(keeper.EventUnknown, s.problem, nil)
	case s.partial: // not up yet
	case s.running && !m.Up:
		w.remember(func(m *memory) {
			m.Up = true
			if m.Started.IsZero() {
				m.Started = now
			}
		})
		w.event(keeper.EventAdopted, "it was running", nil)
	case s.running && m.Failures > 0 && now.Sub(m.Started) >= stable:
		w.remember((*memory).forgive)
	case s.running && m.Stalled && s.lastWrite.After(m.Active):
		w.remember(func(m *memory) { m.Stalled, m.Active = false, s.lastWrite })
	case !s.running && m.Up:
		w.died(ctx, m, now)
	case !s.running:
		w.leavePlace(ctx, m)
	}
}

// forgetChanged forgets the failures and the final end of an agent that is not
// that one any more: who mends the workspace's file does not wait for a
// quarantine to end. An agent that is not to run has not finished either: when
// it is wanted again, it starts.
func (w *worker) forgetChanged() memory {
	w.mu.Lock()
	m, is, wanted := w.memory, w.next.Identity(), w.desired.run
	w.mu.Unlock()
	if m.Finished != "" && (m.Finished != is || !wanted) {
		m = w.remember(func(m *memory) { m.Finished = "" })
	}
	if m.FailedAs != "" && m.FailedAs != is {
		m = w.remember((*memory).forgive)
	}
	return m
}

// leavePlace turns to where the agent should be, once nothing is left of it
// where it was.
func (w *worker) leavePlace(ctx context.Context, m memory) {
	w.mu.Lock()
	moves := !samePlace(w.subject, w.next)
	w.mu.Unlock()
	if moves && m.Left && !w.clean(ctx) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subject = w.next
}

// died notes an end that nobody here asked for.
func (w *worker) died(ctx context.Context, m memory, now time.Time) {
	detail, code, place := w.forensics(ctx)
	detail["ran_ms"] = now.Sub(m.Started).Milliseconds()
	wanted, is, rules, chance := w.wantsRun(), w.sub().Identity(), w.rules(), w.c.jitter()
	quarantined := false
	m = w.remember(func(m *memory) {
		counts := wanted && !m.RestartAsked
		m.Up, m.Left, m.Drain, m.Stalled, m.RestartAsked, m.Started, m.ExitCode = false, true, nil, false, false, time.Time{}, code
		switch {
		case counts && place != "":
			m.Restarts++ // at once, and it is no failure
		case counts && rules.Restart.final(code):
			m.finish(is, code)
		case counts:
			m.Restarts++
			quarantined = m.failed(ending(code), is, rules, now, chance)
			text, _ := detail["screen"].(string)
			m.LastOutput = lastLines(text)
		}
	})
	why := "its command ended"
	if code == nil { // nobody knows how, or its session still stands
		why = "no process of it runs any more"
	}
	w.event(keeper.EventExited, why, detail)
	w.tellQuarantine(quarantined, m)
}

// ending is a dead agent's end in short.
func ending(code *int) string {
	if code == nil {
		return "it ended"
	}
	return fmt.Sprintf("it ended with status %d", *code)
}

// forensics collects what is left of a dead agent: its last screen, and how it
// ended. code is nil where that is not known, place is why its place ended it.
func (w *worker) forensics(ctx context.Context) (detail map[string]any, code *int, place string) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	sub := w.sub()
	detail = map[string]any{"session": sub.Session()}
	if exit, err := sub.Exit(ctx); err == nil && exit != nil {
		code = &exit.Code
		detail["exit_code"] = exit.Code
		if exit.Signal != "" {
			detail["signal"] = exit.Signal
		}
		if place = exit.Place; place != "" {
			detail["place"] = place
		}
	}
	if screen, err := sub.LastText(ctx, forensicLines); err == nil {
		detail["screen"] = screen
	} else {
		detail["screen_missing"] = err.Error()
	}
	return detail, code, place
}

// A patrol looks at every agent even if nothing happened. Asking each one costs
// its place several questions, so a glance at all of them comes first, which
// costs each place one: an agent that is as it should be is left alone.

// Seen is what a glance tells of one agent.
type Seen struct {
	Running bool
	// Closer says that it takes a closer look to know more: it may drift.
	Closer bool
}

// patrol glances at all agents, once in the shortest time that one of them has
// between two looks, until the context ends.
func (c *Controller) patrol(ctx context.Context) {
	if c.glance == nil {
		return
	}
	for poll.Pause(ctx, c.patrolPause()) == nil {
		begun := c.clock()
		seen := c.glance(ctx)
		for _, w := range c.all() {
			if s, ok := seen[w.key]; ok { // who is not named is looked at as without a glance
				w.glanced(s, begun)
			}
		}
	}
}

func (c *Controller) patrolPause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	pause := DefaultPolicy.Patrol
	for _, m := range c.plan {
		pause = min(pause, m.Policy.Patrol)
	}
	return pause
}

// glanced takes note of an agent that is as it was last seen and should be, and
// has one looked at that is not. at is when the glance began.
func (w *worker) glanced(s Seen, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered != w.asked || w.desired.run && (w.policy.IdleTimeout > 0 || w.policy.StallTimeout > 0 || w.memory.Drain != nil) {
		return // it takes a look of its own
	}
	fine := false
	switch w.status.Actual {
	case keeper.Running:
		fine = s.Running && !s.Closer && w.desired.run && w.memory.Up && w.memory.Failures == 0
	case keeper.Stopped:
		if w.desired.run {
			return // it waits for another
		}
		fine = !s.Running
	default:
		return // its own deadline comes, or a start is under way
	}
	if fine {
		w.fineAt = at
		return
	}
	w.poke.Set()
}

// isFine reports whether a glance of this patrol found the agent as it should
// be.
func (w *worker) isFine() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.fineAt.IsZero() && w.c.clock().Sub(w.fineAt) <= w.policy.Patrol*3/2
}
