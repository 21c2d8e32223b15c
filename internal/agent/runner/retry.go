package runner

import (
	"math/rand/v2"
	"time"
)

const (
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
)

// Wait is how long to wait before attempt n (from 1) after a failure: what the
// vendor said, or twice as long each time, with jitter so that many agents do
// not come back at once.
func (f *Failure) Wait(n int) time.Duration {
	if f.RetryAfter > 0 {
		return f.RetryAfter + rand.N(f.RetryAfter/10+time.Second)
	}
	wait := firstWait << min(n-1, 20)
	if wait <= 0 || wait > longestWait {
		wait = longestWait
	}
	return wait/2 + rand.N(wait/2)
}

// Retried reports whether den goes on by itself after a failure of the class.
func (c Class) Retried() bool {
	switch c {
	case Quota, Overload, Gone, Silent:
		return true
	}
	return false
}
