package ircd

import "time"

// A bucket paces the lines of one client: burst at once, then rate a second. A
// client that sends more is read later, so that its own send buffer fills;
// nothing is lost.
type bucket struct {
	rate   float64
	burst  float64
	tokens float64
	at     time.Time
}

func newBucket(rate float64, burst int) bucket {
	return bucket{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

// take returns how long to wait before the line may be handled.
func (b *bucket) take(now time.Time) time.Duration {
	if !b.at.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// wait pauses until a line may be handled. It returns false if the connection
// was closed meanwhile.
func (b *bucket) wait(out *outbox) bool {
	pause := b.take(time.Now())
	if pause <= 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-out.gone:
		return false
	}
}
