package conversation

import (
	"context"
	"sync"
)

// maxEvents is how many events a Ring keeps in memory; the oldest go.
const maxEvents = 512

// A Ring keeps the last events of a conversation and tells who follows.
type Ring struct {
	mu      sync.Mutex // guards the fields below
	events  []Event
	last    uint64
	changed chan struct{} // closed, and replaced, with every event
}

// NewRing makes an empty Ring.
func NewRing() *Ring { return &Ring{changed: make(chan struct{})} }

// Add keeps an event and gives it the next sequence number.
func (r *Ring) Add(e Event) {
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
func (r *Ring) after(seq uint64) ([]Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Event
	for _, e := range r.events {
		if e.Seq > seq {
			all = append(all, e)
		}
	}
	return all, r.changed
}

// Follow calls each with what happened after a sequence number, as far back as
// it is kept, and then with what happens, until the context ends or each fails.
func (r *Ring) Follow(ctx context.Context, after uint64, each func(Event) error) error {
	for {
		events, changed := r.after(after)
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
