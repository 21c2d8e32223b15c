package dashboard

import (
	"sync"
	"time"
)

const (
	// budgetRate is how many bytes all feeds together read and emulate per
	// second: about a third of one processor. Faster output is skipped in
	// leaps, so that watching does not slow down the sessions.
	budgetRate = 24 << 20
	// budgetBurst is what may be read at once after a pause, so that the end
	// of a log is shown immediately.
	budgetBurst = 16 << 20
	// budgetStep is how much a feed reads before it is charged.
	budgetStep = 64 << 10
	// eventCost is the cost of an event in addition to its bytes.
	eventCost = 256
	// awaited is the delay from which an event counts as not having been in
	// the log already.
	awaited = 200 * time.Microsecond
)

// budget bounds the work of all feeds. A feed that exceeds it waits for its
// turn.
type budget struct {
	mu   sync.Mutex // guards the field below
	paid time.Time  // when all that was spent is paid off
}

// spend charges n bytes and returns how long to pause.
func (b *budget) spend(n int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	const burst = budgetBurst * time.Second / budgetRate
	if b.paid.Before(now.Add(-burst)) {
		b.paid = now.Add(-burst)
	}
	b.paid = b.paid.Add(time.Duration(n) * time.Second / budgetRate)
	return max(0, b.paid.Sub(now))
}

// A spender is charged for what a feed reads. It is the model's budget, except
// in tests.
type spender interface {
	spend(n int, now time.Time) (pause time.Duration)
}

// pace controls the rate of one feed, and how often it wakes. It belongs to
// the feed's goroutine.
type pace struct {
	budget  spender
	owed    int
	idle    time.Time // since when the feed waits for an event
	woken   time.Time // when it last had to wait for one
	tooSoon bool      // the event that came was waited for, and the one before just now
}

// begin is called when an event has arrived.
func (p *pace) begin(gap time.Duration, now time.Time) {
	p.tooSoon = false
	if now.Sub(p.idle) < awaited {
		return // it was there already
	}
	p.tooSoon = now.Sub(p.woken) < gap
	if !p.tooSoon {
		p.woken = now
	}
}

// end is called when an event of n bytes was processed. It returns how long to
// pause: so that events are batched if they arrive faster than screens are
// shown, and to stay within the budget; dear is set for the latter.
func (p *pace) end(n int, gap time.Duration, now time.Time) (rest time.Duration, dear bool) {
	p.owed += n + eventCost
	if p.tooSoon {
		rest = max(0, gap-now.Sub(p.woken))
		p.woken = now.Add(rest)
	}
	if p.owed >= budgetStep {
		debt := p.budget.spend(p.owed, now)
		p.owed = 0
		dear = debt > 0
		rest = max(rest, debt)
	}
	return rest, dear
}
