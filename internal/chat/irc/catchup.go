package irc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"den/internal/base/fault"
)

// The bounds of what is remembered to tell old messages from new ones.
const (
	maxHeld    = 4096 // live messages of one conversation that wait for its history
	maxCursors = 4096 // conversations
	maxSeen    = 8192 // IDs
	page       = 100  // messages asked for at once
)

// seenIDs remembers the newest IDs.
type seenIDs struct {
	known map[string]bool
	order []string // a ring of at most maxSeen
	next  int
}

// add reports whether an ID is new.
func (s *seenIDs) add(id string) bool {
	if s.known[id] {
		return false
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if len(s.order) < maxSeen {
		s.order = append(s.order, id)
	} else {
		delete(s.known, s.order[s.next])
		s.order[s.next] = id
		s.next = (s.next + 1) % maxSeen
	}
	s.known[id] = true
	return true
}

// direct is the key of all messages from one user to another.
const direct = ""

// missedLocked begins to read what was missed while there was no connection.
func (cn *connection) missedLocked() {
	switch {
	case cn.directSince.IsZero(): // nothing is known that something could follow
	case !cn.caps["draft/chathistory"]:
		cn.client.events.push(Event{Kind: EventGap, Time: cn.since})
	default:
		cn.fetchLocked(direct)
	}
}

// fetchLocked begins to read the history of a channel, or of all direct
// messages. Until it is read, live messages wait.
func (cn *connection) fetchLocked(name string) {
	folded := cn.isupport.Fold(name)
	if _, already := cn.holding[folded]; already || !cn.caps["draft/chathistory"] {
		return
	}
	cn.holding[folded] = nil
	cn.missing = append(cn.missing, name)
	cn.wakeCatchUp.Set()
}

// catchUp reads histories, one after the other, until the connection ends.
func (cn *connection) catchUp() {
	for {
		select {
		case <-cn.life.Done():
			return
		case <-cn.wakeCatchUp:
		}
		for name, ok := cn.nextMissing(); ok; name, ok = cn.nextMissing() {
			var missed []Event
			var err error
			if name == direct {
				missed, err = cn.missedDirect(cn.life)
			} else {
				missed, err = cn.missedOf(cn.life, name)
			}
			cn.release(name, missed, err)
		}
	}
}

func (cn *connection) nextMissing() (string, bool) {
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	if len(cn.missing) == 0 {
		return "", false
	}
	name := cn.missing[0]
	cn.missing = cn.missing[1:]
	return name, true
}

// release delivers what was missed and then what came meanwhile.
func (cn *connection) release(name string, missed []Event, err error) {
	c := cn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.failure != nil || cn.life.Err() != nil {
		return // the next connection reads it again
	}
	folded := cn.isupport.Fold(name)
	live := map[string]bool{} // also in the history, and heard by ourselves
	for _, e := range cn.holding[folded] {
		live[e.ID] = true
	}
	for _, e := range missed {
		if !live[e.ID] || e.ID == "" {
			e.Missed = true
			cn.deliverLocked(e)
		}
	}
	if err != nil {
		c.events.push(Event{Kind: EventGap, Time: cn.since, Channel: name, Err: err})
	}
	for _, e := range cn.holding[folded] {
		cn.deliverLocked(e)
	}
	delete(cn.holding, folded)
}

// errMore means that more was missed than is read.
func errMore(n int) error {
	return fault.Errorf(fault.Busy, "read history: more than %d messages were missed", n)
}

// missedOf reads what came after the cursor of a target.
func (cn *connection) missedOf(ctx context.Context, target string) ([]Event, error) {
	c := cn.client
	c.mu.Lock()
	cursor, known := c.cursors[cn.isupport.Fold(target)]
	c.mu.Unlock()
	if !known {
		cursor = Cursor{Time: justBefore(cn.directSince)}
	}
	var missed []Event
	for {
		got, err := c.history(ctx, "AFTER", target, cursor, page, true)
		missed = append(missed, got...)
		if err != nil || len(got) == 0 {
			return missed, err
		}
		if len(missed) >= c.cfg.Limits.History {
			return missed, errMore(len(missed))
		}
		last := got[len(got)-1]
		cursor = Cursor{ID: last.ID, Time: last.Time}
	}
}

// justBefore is the time before the last message that we know: what was sent
// in the same millisecond may be new. What is not is recognised by its ID.
func justBefore(t time.Time) time.Time { return t.Add(-time.Millisecond) }

// missedDirect reads the direct messages since the last one that we know, of
// all peers, in the order in which they were sent: whoever is told of one has
// been told of all before it.
func (cn *connection) missedDirect(ctx context.Context) ([]Event, error) {
	c := cn.client
	// The server's clock may be ahead of ours.
	until := time.Now().Add(24 * time.Hour)
	r := newRequest("read history", Message{Command: "CHATHISTORY", Params: []string{"TARGETS", timestamp(justBefore(cn.directSince)), timestamp(until), fmt.Sprint(page)}})
	var targets []string
	r.take = func(m Message) (used, last bool) {
		if m.Command == "CHATHISTORY" && !cn.isupport.IsChannel(m.Param(1)) {
			targets = append(targets, m.Param(1))
		}
		return m.Command == "CHATHISTORY", false
	}
	if err := c.doFirst(ctx, r); err != nil {
		return nil, err
	}
	var missed []Event
	for _, target := range targets {
		got, err := cn.missedOf(ctx, target)
		missed = append(missed, got...)
		if err != nil {
			return inOrder(missed), err
		}
	}
	return inOrder(missed), nil
}

func inOrder(events []Event) []Event {
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events
}

func timestamp(t time.Time) string {
	return "timestamp=" + t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (cur Cursor) selector() string {
	switch {
	case cur.ID != "":
		return "msgid=" + cur.ID
	case cur.Time.IsZero():
		return "*"
	}
	return timestamp(cur.Time)
}

// doFirst is do for requests of the client itself: they come before those of
// callers.
func (c *Client) doFirst(ctx context.Context, r *request) error {
	c.mu.Lock()
	err := c.queue.pushFront(r)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.await(ctx, r)
}

// History returns the messages of a channel or peer after a cursor, the oldest
// first, or with an empty cursor the newest ones. A server without history is
// an error of kind unsupported.
func (c *Client) History(ctx context.Context, target string, after Cursor, limit int) ([]Event, error) {
	sub := "AFTER"
	if after == (Cursor{}) {
		sub = "LATEST"
	}
	return c.readHistory(ctx, sub, target, after, limit)
}

// HistoryBefore returns the newest messages of a channel or peer before a
// cursor, the oldest first.
func (c *Client) HistoryBefore(ctx context.Context, target string, before Cursor, limit int) ([]Event, error) {
	return c.readHistory(ctx, "BEFORE", target, before, limit)
}

func (c *Client) readHistory(ctx context.Context, sub, target string, from Cursor, limit int) ([]Event, error) {
	if !validTarget(target) {
		return nil, fault.Errorf(fault.Usage, "read history of %q: not a valid channel or nick", target)
	}
	if err := c.Ready(ctx); err != nil {
		return nil, err
	}
	if !c.HasCap("draft/chathistory") {
		return nil, fault.Errorf(fault.Unsupported, "read history of %s: the server keeps none", target)
	}
	return c.history(ctx, sub, target, from, limit, false)
}

func (c *Client) history(ctx context.Context, sub, target string, from Cursor, limit int, first bool) ([]Event, error) {
	r := newRequest("read history of "+target, Message{Command: "CHATHISTORY", Params: []string{sub, target, from.selector(), fmt.Sprint(limit)}})
	var events []Event
	r.take = func(m Message) (used, last bool) {
		cn := c.conn
		if cn == nil || m.Command != "PRIVMSG" && m.Command != "NOTICE" && m.Command != "TAGMSG" {
			return false, false
		}
		source := ParseSource(m.Source)
		events = append(events, cn.completeMessage(m, cn.eventLocked(m, source, cn.isSelf(source.Nick))))
		return true, false
	}
	do := c.ask
	if first {
		do = c.doFirst
	}
	err := do(ctx, r)
	return events, err
}
