package harness

import (
	"context"
	"slices"
	"strings"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/agent/webhook"
	"den/internal/base/fault"
)

// asker waits for an answer in a channel.
type asker struct {
	target  string // as it was asked: a channel, or a nick
	direct  bool
	named   []string       // whom of the channel the question addresses; none: it is for everybody
	replies chan ipc.Reply // has room for one
}

// isFor reports whether a message answers the question because of who sends
// it: the person who was asked, or one of those whom the question addresses.
func (a *asker) isFor(nick string, same func(a, b string) bool) bool {
	return a.direct || slices.ContainsFunc(a.named, func(name string) bool { return same(name, nick) })
}

// defaultAsk is how long irc_ask waits when it does not say.
const defaultAsk = 30 * time.Second

// chatAsk asks something and waits for a reply: the next message of the person,
// or the next one in the channel that addresses the agent. Where the question
// addresses people who are there, it is the next one of theirs: what others say
// to the agent is for it to answer.
func (h *Harness) chatAsk(ctx context.Context, r ipc.Request) (any, []string, error) {
	if err := h.checkSend(r); err != nil {
		return nil, nil, err
	}
	limit := defaultAsk
	if r.Timeout > 0 {
		limit = time.Duration(r.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a := &asker{target: r.Channel, direct: !h.chat.IsChannel(r.Channel), replies: make(chan ipc.Reply, 1)}
	if !a.direct {
		a.named = h.addressed(ctx, r.Channel, r.Message)
	}
	h.mu.Lock()
	h.asking = append(h.asking, a) // before it is sent, so that no reply is missed
	h.mu.Unlock()
	defer h.forget(a)
	if err := h.chat.Send(ctx, r.Channel, r.Message, r.ID, false); err != nil {
		return nil, nil, err
	}
	h.notify(webhook.AgentQuestion, webhook.Info, r.ID, "[QUESTION] "+h.config.Nick+" asked in "+r.Channel+": "+r.Message)
	select {
	case reply := <-a.replies:
		return reply, nil, nil
	case <-ctx.Done():
		return nil, nil, fault.Hintf(fault.Errorf(fault.Timeout, "nobody answered in %s within %v", r.Channel, limit),
			"an answer that comes later is found by 'den channel read'")
	}
}

// addressed returns whom of a channel a text addresses. Where the server does
// not tell who is there, that is nobody.
func (h *Harness) addressed(ctx context.Context, channel, text string) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	people, err := h.chat.Who(ctx, channel)
	if err != nil {
		h.logf("look whom a question is for: %v", err)
	}
	var named []string
	for _, p := range people {
		if !h.chat.Same(p.Nick, h.chat.Nick()) && h.chat.Addresses(text, p.Nick) {
			named = append(named, p.Nick)
		}
	}
	return named
}

func (h *Harness) forget(a *asker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, other := range h.asking {
		if other == a {
			h.asking = append(h.asking[:i], h.asking[i+1:]...)
			return
		}
	}
}

// answersAsker gives a message to the oldest request that waits for it, those
// that wait for its sender first. taken is false where none does. Where it was a
// question for everybody, the message may as well be something else, and is not
// surely an answer.
func (h *Harness) answersAsker(m Incoming, direct bool) (taken, surely bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := -1
	for i, a := range h.asking {
		if direct != a.direct || direct && !h.chat.Same(m.Nick, a.target) || !direct && !h.chat.Same(m.Target, a.target) {
			continue
		}
		if a.isFor(m.Nick, h.chat.Same) {
			h.replyLocked(i, m)
			return true, true
		}
		if open < 0 && len(a.named) == 0 {
			open = i
		}
	}
	if open < 0 {
		return false, false
	}
	h.replyLocked(open, m)
	return true, false
}

// replyLocked answers a request that waits.
func (h *Harness) replyLocked(at int, m Incoming) {
	h.asking[at].replies <- ipc.Reply{Nick: m.Nick, Text: m.Text, At: m.At} // has room: it is removed now
	h.asking = slices.Delete(h.asking, at, at+1)
}
