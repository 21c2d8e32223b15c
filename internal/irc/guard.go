package irc

import (
	"sync"
	"time"
)

// A PeerLimiter bounds how often each peer is served. It is what ends a loop
// of two programs that answer each other.
type PeerLimiter struct {
	rate  float64
	burst int

	mu    sync.Mutex // guards the field below
	peers map[string]*Bucket
}

// maxPeers bounds how many peers are remembered. Those that are not being
// limited are forgotten first; if all are, new peers are refused.
const maxPeers = 4096

// NewPeerLimiter allows each peer burst messages at once, then rate a second.
func NewPeerLimiter(rate float64, burst int) *PeerLimiter {
	return &PeerLimiter{rate: rate, burst: burst, peers: map[string]*Bucket{}}
}

// Allow reports whether a message of a peer, by its folded nick or its
// account, may be served now.
func (l *PeerLimiter) Allow(peer string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.peers[peer]
	if b == nil {
		if len(l.peers) >= maxPeers && !l.forgetLocked(now) {
			return false
		}
		fresh := NewBucket(l.rate, l.burst)
		b = &fresh
		l.peers[peer] = b
	}
	return b.TryTake(now)
}

func (l *PeerLimiter) forgetLocked(now time.Time) bool {
	for peer, b := range l.peers {
		if b.full(now) {
			delete(l.peers, peer)
		}
	}
	return len(l.peers) < maxPeers
}

// botTags mark the messages of programs: the first is set by a server for
// users with the bot mode, the others by senders.
var botTags = []string{"bot", "+draft/bot", "+bot"}

func isBot(tags Tags) bool {
	for _, key := range botTags {
		if _, ok := tags.Get(key); ok {
			return true
		}
	}
	return false
}
