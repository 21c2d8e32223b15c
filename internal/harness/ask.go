package harness

import (
	"context"
	"time"

	"den/internal/fault"
	"den/internal/harness/ipc"
	"den/internal/webhook"
)

// asker waits for an answer in a channel.
type asker struct {
	target  string // as it was asked: a channel, or a nick
	direct  bool
	replies chan ipc.Reply // has room for one
}

// defaultAsk is how long irc_ask waits when it does not say.
const defaultAsk = 30 * time.Second

// chatAsk asks something and waits for a reply: the next message in the
// channel that addresses the agent, or the next one of the person.
func (h *Harness) chatAsk(ctx context.Context, r ipc.Request) (any, []string, error) {
	if err := h.checkSend(r); err != nil {
		return nil, nil, err
	}
	limit := defaultAsk
	if r.Timeout > 0 {
		limit = time.Duration(r.Timeout * float64(time.Second))
	}
	a := &asker{target: r.Channel, direct: !h.chat.IsChannel(r.Channel), replies: make(chan ipc.Reply, 1)}
	h.mu.Lock()
	h.asking = append(h.asking, a) // before it is sent, so that no reply is missed
	h.mu.Unlock()
	defer h.forget(a)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
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

// answersAsker gives a message to the oldest request that waits for it. It
// reports whether one did.
func (h *Harness) answersAsker(m Incoming, direct bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, a := range h.asking {
		if direct != a.direct || direct && !h.chat.Same(m.Nick, a.target) || !direct && !h.chat.Same(m.Target, a.target) {
			continue
		}
		a.replies <- ipc.Reply{Nick: m.Nick, Text: m.Text, At: m.At} // has room: it is removed now
		h.asking = append(h.asking[:i], h.asking[i+1:]...)
		return true
	}
	return false
}
