package harness

import (
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

// maxPeers bounds the peers that are remembered; then all begin anew.
const maxPeers = 10000

// peers bounds how often each peer is answered.
type peers struct {
	mu  sync.Mutex
	all map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func (p *peers) allow(nick string, bot bool, now time.Time) bool {
	r := personRate
	if bot {
		r = botRate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) > maxPeers {
		p.all = map[string]*bucket{}
	}
	key := strings.ToLower(nick)
	b := p.all[key]
	if b == nil {
		b = &bucket{tokens: float64(r.burst), at: now}
		p.all[key] = b
	}
	b.tokens = min(float64(r.burst), b.tokens+float64(now.Sub(b.at))/float64(r.refill))
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
