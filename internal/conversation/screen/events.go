package screen

import (
	"context"
	"sync"

	"den/internal/conversation"
)

// maxEvents is how many events a conversation keeps in memory; the oldest go.
const maxEvents = 512

// eventRing keeps the last events of a conversation and tells who follows.
type eventRing struct {
	mu      sync.Mutex // guards the fields below
	events  []conversation.Event
	last    uint64
	changed chan struct{} // closed, and replaced, with every event
}

func newEventRing() *eventRing { return &eventRing{changed: make(chan struct{})} }

func (r *eventRing) add(e conversation.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	e.Seq = r.last
	r.events = append(r.events, e)
	if len(r.events) > maxEvents {
		r.events = r.events[1:]
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// after returns the events after a sequence number, and a channel that is
// closed when there are more.
func (r *eventRing) after(seq uint64) ([]conversation.Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []conversation.Event
	for _, e := range r.events {
		if e.Seq > seq {
			all = append(all, e)
		}
	}
	return all, r.changed
}

// Events calls each with what happened after a sequence number, as far back as
// it is kept, and then with what happens. States are seen while Run runs.
func (c *Conversation) Events(ctx context.Context, after uint64, each func(conversation.Event) error) error {
	for {
		events, changed := c.events.after(after)
		for _, e := range events {
			if err := each(e); err != nil {
				return err
			}
			after = e.Seq
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
