package irc

import "time"

// A Bucket paces a stream: burst at once, then rate a second. It is not safe
// for use by several goroutines.
type Bucket struct {
	rate, burst float64
	tokens      float64
	at          time.Time // of the last Take, or zero
}

// NewBucket returns a full bucket.
func NewBucket(rate float64, burst int) Bucket {
	return Bucket{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

// Take takes one and returns how long to wait before it may be used.
func (b *Bucket) Take(now time.Time) time.Duration {
	b.refill(now)
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// Wait returns how long it takes until one may be used.
func (b *Bucket) Wait(now time.Time) time.Duration {
	b.refill(now)
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1 - b.tokens) / b.rate * float64(time.Second))
}

// TryTake takes one if it may be used at once.
func (b *Bucket) TryTake(now time.Time) bool {
	b.refill(now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (b *Bucket) refill(now time.Time) {
	if !b.at.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
}
