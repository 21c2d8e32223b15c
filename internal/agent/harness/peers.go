package harness

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// rate is a token bucket: burst tokens, one more every refill.
type rate struct {
	burst  int
	refill time.Duration
}

// Programs that answer each other would go on for ever, so they get little; a
// person is bounded only by what the queue takes.
var (
	personRate = rate{burst: 1000, refill: 50 * time.Millisecond}
	botRate    = rate{burst: 10, refill: 30 * time.Second}
)

func rateOf(bot bool) rate {
	if bot {
		return botRate
	}
	return personRate
}

func (r rate) String() string {
	return fmt.Sprintf("%d messages at once, and then one every %v", r.burst, r.refill)
}

// maxPeers bounds the peers that are remembered. Those that used up nothing are
// forgotten first; if all did, new ones are not answered.
const maxPeers = 10000

// peers bounds how often each peer is answered.
type peers struct {
	mu  sync.Mutex
	all map[string]*bucket
}

type bucket struct {
	rate   rate
	tokens float64
	at     time.Time
	told   bool // that it is not answered, since it last was
}

func (b *bucket) fill(now time.Time) {
	b.tokens = min(float64(b.rate.burst), b.tokens+float64(now.Sub(b.at))/float64(b.rate.refill))
	b.at = now
}

// forgetLocked makes room, and reports whether there was any to make.
func (p *peers) forgetLocked(now time.Time) bool {
	for key, b := range p.all {
		if b.fill(now); b.tokens >= float64(b.rate.burst) {
			delete(p.all, key)
		}
	}
	return len(p.all) < maxPeers
}

// allow reports whether a peer is answered. Where it is not, first is whether it
// was before.
func (p *peers) allow(nick string, bot bool, now time.Time) (allowed, first bool) {
	r := rateOf(bot)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*bucket{}
	}
	key := strings.ToLower(nick)
	b := p.all[key]
	if b == nil {
		if len(p.all) >= maxPeers && !p.forgetLocked(now) {
			return false, false
		}
		b = &bucket{rate: r, tokens: float64(r.burst), at: now}
		p.all[key] = b
	}
	b.rate = r
	b.fill(now)
	if b.tokens < 1 {
		first, b.told = !b.told, true
		return false, first
	}
	b.tokens--
	b.told = false
	return true, false
}
