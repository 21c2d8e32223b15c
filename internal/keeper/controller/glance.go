package controller

import (
	"context"
	"time"

	"den/internal/keeper"
)

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
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.patrolPause()):
		}
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
	w.touch()
}

// isFine reports whether a glance of this patrol found the agent as it should
// be.
func (w *worker) isFine() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.fineAt.IsZero() && w.c.clock().Sub(w.fineAt) <= w.policy.Patrol*3/2
}
