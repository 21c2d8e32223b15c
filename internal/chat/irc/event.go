package irc

import (
	"context"
	"sync"
	"time"

	"den/internal/base/wake"
)

// An EventKind says what an event is about.
type EventKind string

// The kinds of events.
const (
	EventMessage      EventKind = "message" // PRIVMSG, NOTICE or TAGMSG
	EventJoin         EventKind = "join"
	EventPart         EventKind = "part"
	EventKick         EventKind = "kick"
	EventQuit         EventKind = "quit"
	EventNick         EventKind = "nick"
	EventTopic        EventKind = "topic"
	EventInvite       EventKind = "invite"
	EventAway         EventKind = "away"
	EventConnected    EventKind = "connected"    // registered; channels are being joined
	EventDisconnected EventKind = "disconnected" // Err says why; the client tries again
	EventJoinFailed   EventKind = "join-failed"  // Err says why a channel was not joined again
	EventGap          EventKind = "gap"          // messages since Time may be missing: the server has no history
	EventDropped      EventKind = "dropped"      // Dropped events were lost: they were not taken in time
)

// An Event is something that happened on the server or to the connection.
type Event struct {
	Kind    EventKind
	Time    time.Time // the server's, where it tells
	ID      string    // of a message, or empty: the server gives none
	From    Source
	Account string // of the sender, or empty
	Target  string // the channel or nick that it was sent to
	Channel string // or empty: a message from one user to another
	Peer    string // of such a message: the other one's nick
	Subject string // who was kicked or invited; the new nick
	Text    string
	Command string // of a message
	Tags    Tags
	Own     bool // we sent it, by this or another connection
	Bot     bool // the sender says that it is a program
	Missed  bool // sent while we were not there, and read from the history
	Dropped int
	Err     error
}

// An eventQueue holds events until they are taken. If it is full the oldest
// are dropped, and their number is an event.
type eventQueue struct {
	limit int
	wake  wake.Signal // capacity one

	mu      sync.Mutex // guards the fields below
	events  []Event    // at most limit
	dropped int
	closed  bool
}

func newEventQueue(limit int) *eventQueue {
	return &eventQueue{limit: limit, wake: wake.New()}
}

func (q *eventQueue) push(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if len(q.events) >= q.limit {
		q.events = q.events[1:]
		q.dropped++
	}
	q.events = append(q.events, e)
	q.wake.Set()
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Set()
}

// take returns the next event, whether there was one, and whether none will
// come.
func (q *eventQueue) take() (e Event, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped > 0 {
		e = Event{Kind: EventDropped, Dropped: q.dropped, Time: time.Now()}
		q.dropped = 0
		return e, true, false
	}
	if len(q.events) == 0 {
		return e, false, q.closed
	}
	e, q.events = q.events[0], q.events[1:]
	if len(q.events) == 0 {
		q.events = nil // lets go of what was taken
	}
	return e, true, false
}

// Next returns the next event. It waits for one until the context ends. After
// the client has ended and all events are taken it returns ErrClosed. Only one
// goroutine may call it.
func (c *Client) Next(ctx context.Context) (Event, error) {
	for {
		e, ok, closed := c.events.take()
		if ok {
			return e, nil
		}
		if closed {
			return Event{}, ErrClosed
		}
		select {
		case <-ctx.Done():
			return Event{}, ctx.Err()
		case <-c.events.wake:
		}
	}
}
