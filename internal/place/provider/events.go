package provider

import "slices"

// Change is what happened to a session.
type Change string

// The changes. More may come: receivers pass over those that they do not know.
const (
	Started     Change = "started" // its command runs
	Ended       Change = "ended"   // its command has ended
	MetaChanged Change = "meta"    // its metadata is another
)

// Event is one change of one session.
type Event struct {
	Name   string
	Change Change
}

// EventQueue holds what a receiver has not taken yet. An event that is in it
// already moves to the end, so it is bounded by the number of sessions and the
// last event of a session is the last that happened to it. The zero value is
// empty. It is not safe for concurrent use.
type EventQueue struct {
	events  []Event
	waiting map[Event]bool
}

// Add puts an event at the end.
func (q *EventQueue) Add(e Event) {
	if q.waiting == nil {
		q.waiting = map[Event]bool{}
	}
	if q.waiting[e] {
		q.events = slices.DeleteFunc(q.events, func(other Event) bool { return other == e })
	}
	q.waiting[e] = true
	q.events = append(q.events, e)
}

// Next returns the first event and the channel to send it to: nil, on which a
// select waits forever, where the queue is empty.
func (q *EventQueue) Next(to chan<- Event) (chan<- Event, Event) {
	if len(q.events) == 0 {
		return nil, Event{}
	}
	return to, q.events[0]
}

// Sent removes the first event.
func (q *EventQueue) Sent() {
	delete(q.waiting, q.events[0])
	q.events = q.events[1:]
}
