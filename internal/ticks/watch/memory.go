package watch

import (
	"fmt"
	"time"

	"den/internal/ticks/plan"
)

// Memory is what is remembered from tick to tick.
type Memory struct {
	Failures int       `json:"failures,omitempty"` // in a row
	Ended    time.Time `json:"ended,omitzero"`     // the last tick
	// Rest is how long no tick begins after the last one.
	Rest time.Duration `json:"rest_ns,omitempty"`
	Why  string        `json:"why,omitempty"` // the last tick failed
}

// After is the memory after a tick. Only one that ended well forgives failures;
// one that somebody interrupted says nothing about the next.
func (m Memory) After(o plan.Outcome, p Policy, now time.Time) Memory {
	m.Ended = now
	switch o.Reason {
	case plan.Normal:
		return Memory{Ended: now}
	case plan.Interrupted:
		m.Rest = 0
		return m
	}
	m.Failures++
	m.Rest, m.Why = max(o.Rest, p.rest(m.Failures)), o.String()
	return m
}

// rest is how long to wait after failure n, from 1.
func (p Policy) rest(n int) time.Duration {
	d := p.FirstRest
	for range min(n-1, 40) {
		if d >= p.LongestRest {
			break
		}
		d *= 2
	}
	return min(d, p.LongestRest)
}

// left is how long no tick begins. A clock that was set back must not keep the
// agent asleep: then the rest is over.
func (m Memory) left(now time.Time) time.Duration {
	passed := now.Sub(m.Ended)
	if passed < 0 {
		return 0
	}
	return max(0, m.Rest-passed)
}

func (m Memory) told(until time.Time) string {
	times := "the last tick failed"
	if m.Failures > 1 {
		times = fmt.Sprintf("the last %d ticks failed", m.Failures)
	}
	return fmt.Sprintf("%s (%s); the next begins at %s", times, firstLine(m.Why), until.Local().Format(time.TimeOnly))
}
