package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"den/internal/agent/harness/ipc"
)

// promptText is what the agent is told of a message that is for it.
func promptText(m Incoming, direct bool) string {
	if direct {
		return fmt.Sprintf("[IRC DM] <%s> %s", m.Nick, m.Text)
	}
	return fmt.Sprintf("[IRC @mention in %s] <%s> %s", m.Target, m.Nick, m.Text)
}

// promptID is the same for the same message, also when it is heard again after
// a restart. A server without ids leaves the second in which it was said.
func promptID(m Incoming) string {
	if m.ID != "" {
		return "irc-" + safeID(m.ID)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", m.Target, m.Nick, m.Text, m.At.UnixNano()))
	return "irc-" + hex.EncodeToString(sum[:12])
}

// safeID makes a server's id one of a message: what does not fit is hashed.
func safeID(id string) string {
	if len(id) <= 64 {
		fits := true
		for _, r := range id {
			fits = fits && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		}
		if fits {
			return id
		}
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// hear takes a message from the server: it is kept for readers and, where it
// is for the agent, becomes a prompt.
func (h *Harness) hear(m Incoming) {
	h.active.Note()
	key := m.Target
	direct := !h.chat.IsChannel(m.Target)
	if direct && !m.Own {
		key = m.Nick // a conversation with a person is kept under the other's name
	}
	if h.buffer.has(key, m.ID) {
		return
	}
	h.seesOwner(m)
	// What is kept counts as heard: a harness that is killed before the prompt
	// is on disk must hear the message again.
	h.heed(m, direct)
	if _, _, err := h.buffer.add(key, ipc.Line{Nick: m.Nick, Text: m.Text, At: m.At, ID: m.ID}); err != nil {
		h.logf("keep a message: %v", err)
	}
}

// alreadyReply tells the agent that it has a message already: an answer needs
// nothing more, and another matter is not lost.
const alreadyReply = "\n[den] You have this already, as the reply to what you asked there. If it is not that, answer it now."

// heed acts on a message that is for the agent.
func (h *Harness) heed(m Incoming, direct bool) {
	if m.Own || m.Notice || h.chat.Same(m.Nick, h.chat.Nick()) {
		return
	}
	if !direct && !h.chat.Mentioned(m.Text) {
		return
	}
	if h.decides(m) {
		return
	}
	text := promptText(m, direct)
	if !m.Missed { // nobody asked before the harness was there
		taken, surely := h.answersAsker(m, direct)
		if surely {
			return
		}
		if taken {
			text += alreadyReply
		}
	}
	reply := m.Target
	if direct {
		reply = m.Nick
	}
	if allowed, first := h.peers.allow(m.Nick, m.Bot, h.clock()); !allowed {
		h.tooMany(m, reply, first)
		return
	}
	if !m.Bot {
		h.over.supervisor.Returned()
	}
	h.prompt(promptID(m), text, Route{Kind: RouteChannel, Target: reply, Sender: m.Nick, Bot: m.Bot, Account: m.Account})
}

// tooMany tells of a message that is not answered, in the channel or to the
// person once until another is answered. It is a notice: no program answers it.
func (h *Harness) tooMany(m Incoming, reply string, first bool) {
	h.logf("too many messages of %s: one is not answered", m.Nick)
	if !first {
		return
	}
	h.screen.Notef("%s says more than is answered; 'den channel read' has all of it", m.Nick)
	text := fmt.Sprintf("%s: I answer %s. The others I do not answer.", m.Nick, rateOf(m.Bot))
	h.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		if err := h.chat.Notice(ctx, reply, text); err != nil {
			h.logf("tell %s that a message is not answered: %v", m.Nick, err)
		}
	})
}

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
