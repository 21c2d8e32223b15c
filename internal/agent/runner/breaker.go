package runner

import "time"

// Breaker stops restarts of an agent that keeps failing. After Limit failures
// within Window it is open; after Window it lets one try through, and a try
// that succeeds closes it.
type Breaker struct {
	Limit  int
	Window time.Duration

	failures []time.Time
	opened   time.Time // zero while it is closed
	trying   bool      // half open, and the one try is under way
}

// DefaultBreaker opens after three failures in five minutes.
func DefaultBreaker() Breaker { return Breaker{Limit: 3, Window: 5 * time.Minute} }

// Fail notes a failure and reports whether the breaker opened by it. Once an open
// one lets a try through, a failure opens it for another Window, also that of an
// agent which still ran and needed no start.
func (b *Breaker) Fail(now time.Time) bool {
	if !b.opened.IsZero() {
		if b.trying || now.Sub(b.opened) >= b.Window {
			b.trying, b.opened = false, now
		}
		return false // it was open before
	}
	recent := b.failures[:0]
	for _, at := range b.failures {
		if now.Sub(at) < b.Window {
			recent = append(recent, at)
		}
	}
	b.failures = append(recent, now)
	if len(b.failures) < b.Limit {
		return false
	}
	b.opened = now
	return true
}

// Succeed notes that the agent works, and closes the breaker.
func (b *Breaker) Succeed() { b.Reset() }

// Undecided notes that a try told nothing about the agent, as when its login was
// refused: another may follow.
func (b *Breaker) Undecided() { b.trying = false }

// Reset closes the breaker and forgets the failures.
func (b *Breaker) Reset() { b.failures, b.opened, b.trying = nil, time.Time{}, false }

// Open reports whether the agent is not to be restarted now.
func (b *Breaker) Open(now time.Time) bool {
	return !b.opened.IsZero() && !b.trying && now.Sub(b.opened) < b.Window
}

// Try takes the one try of a half-open breaker. It reports whether the agent
// may be started.
func (b *Breaker) Try(now time.Time) bool {
	switch {
	case b.opened.IsZero():
		return true
	case b.trying || now.Sub(b.opened) < b.Window:
		return false
	}
	b.trying = true
	return true
}

// Since is when the breaker opened, zero while it is closed.
func (b *Breaker) Since() time.Time { return b.opened }

// Until is when an open breaker lets a try through.
func (b *Breaker) Until() time.Time {
	if b.opened.IsZero() {
		return time.Time{}
	}
	return b.opened.Add(b.Window)
}
