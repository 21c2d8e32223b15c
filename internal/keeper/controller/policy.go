package controller

import (
	"math/rand/v2"
	"time"
)

// Policy is how an agent is kept.
type Policy struct {
	Patrol time.Duration // how often it is looked at even if nothing happened

	Restart       Restart       // what follows an end that nobody asked for
	MaxRestarts   int           // failures within Window that lead to quarantine
	Window        time.Duration // see MaxRestarts
	Backoff       time.Duration // before the second try; doubles with each
	BackoffMax    time.Duration
	Quarantine    time.Duration // the first; doubles with each, up to QuarantineMax
	QuarantineMax time.Duration
	StableAfter   time.Duration // having run for so long forgives all failures

	IdleTimeout  time.Duration // 0: never
	StallTimeout time.Duration // 0: never
	StallRestart bool          // or only tell

	MaxReplacing int // agents that are replaced at the same time because of their configuration; 0: all

	DrainTimeout    time.Duration // 0: stop at once
	StartTimeout    time.Duration
	ShutdownTimeout time.Duration // between the interrupt and the end by force
}

// Restart says when an agent that ended by itself is started again.
type Restart string

// The restart policies. A start that fails is tried again under each of them:
// the agent has not run yet.
const (
	Always    Restart = "always"
	OnFailure Restart = "on-failure" // an exit status of 0 is an end
	Never     Restart = "never"
)

// final reports whether an end with that exit status is one that nothing
// follows. A status that is not known is a failure.
func (r Restart) final(code *int) bool {
	return r == Never || r == OnFailure && code != nil && *code == 0
}

// DefaultPolicy is what holds where a workspace says nothing.
var DefaultPolicy = Policy{
	Patrol:      30 * time.Second,
	Restart:     Always,
	MaxRestarts: 5, Window: 10 * time.Minute,
	Backoff: time.Second, BackoffMax: time.Minute,
	Quarantine: 5 * time.Minute, QuarantineMax: time.Hour, StableAfter: 30 * time.Second,
	StartTimeout: time.Minute, ShutdownTimeout: 5 * time.Second,
}

// delay is how long to wait after so many failures in a row. The first is
// tried again at once. jitter is between 0 and 1: it keeps agents that failed
// together from coming back together.
func (p Policy) delay(failures int, jitter float64) time.Duration {
	if failures < 2 {
		return 0
	}
	d := double(p.Backoff, failures-2, p.BackoffMax)
	return d/2 + time.Duration(jitter*float64(d)/2)
}

// stableAfter is how long an agent must run until its failures are forgiven.
// One that stalled must outlive the time after which it would stall again, or
// it would be restarted for ever without a pause.
func (p Policy) stableAfter(m memory) time.Duration {
	if m.FailedByStall {
		return p.StallTimeout + p.StableAfter
	}
	return p.StableAfter
}

// quarantine is how long the n-th quarantine lasts, counted from 0.
func (p Policy) quarantine(n int) time.Duration { return double(p.Quarantine, n, p.QuarantineMax) }

func double(d time.Duration, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d < limit; times-- {
		d *= 2
	}
	return min(d, limit)
}

// jitter is the real source; tests hand in another.
func jitter() float64 { return rand.Float64() }

// slots bounds how many agents are replaced at the same time because their
// configuration changed. An agent has its slot until it runs as it should, so a
// change with which agents do not come up stops at the first of them.
type slots struct {
	taken  map[string]bool // keys
	queued map[string]bool
}

func newSlots() slots { return slots{taken: map[string]bool{}, queued: map[string]bool{}} }

// mayReplace reports whether there is a slot for the agent, and keeps it until
// freeSlot. Whoever finds none is woken when one is free.
func (c *Controller) mayReplace(key string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit > 0 && !c.slots.taken[key] && len(c.slots.taken) >= limit {
		c.slots.queued[key] = true
		return false
	}
	c.slots.taken[key] = true
	delete(c.slots.queued, key)
	return true
}

// freeSlot lets others be replaced, if the agent had a slot or waited for one.
func (c *Controller) freeSlot(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.slots.queued, key)
	if !c.slots.taken[key] {
		return
	}
	delete(c.slots.taken, key)
	for waits := range c.slots.queued {
		if w := c.workers[waits]; w != nil {
			w.poke.Set()
		}
	}
}

// queuesFor reports whether an agent whose configuration changed has to wait
// until others were replaced.
func (w *worker) queuesFor(s observed) bool {
	w.mu.Lock()
	run, limit, up := w.desired.run, w.policy.MaxReplacing, w.memory.Up
	w.mu.Unlock()
	drifts := s.known && s.running && len(s.drift) > 0
	switch {
	case run && drifts && s.held == "":
		return !w.c.mayReplace(w.key, limit)
	case !run, drifts, s.known && s.running && !s.partial && up:
		w.c.freeSlot(w.key)
	}
	return false
}
