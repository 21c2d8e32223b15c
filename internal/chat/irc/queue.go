package irc

import (
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
)

// A sendQueue holds requests until they can be sent. It is kept over a
// reconnect. It is guarded by Client.mu.
type sendQueue struct {
	limit    int
	wake     wake.Signal // capacity one: something is queued, or a connection is open
	requests []*request  // at most limit, and one of the client itself
	closed   bool
}

func newSendQueue(limit int) sendQueue {
	return sendQueue{limit: limit, wake: wake.New()}
}

// push queues all requests, or none.
func (q *sendQueue) push(requests ...*request) error {
	switch {
	case q.closed:
		return ErrClosed
	case len(q.requests)+len(requests) > q.limit:
		return fault.Errorf(fault.Busy, "send to IRC server: %d lines are waiting already", len(q.requests))
	}
	q.requests = append(q.requests, requests...)
	q.wake.Set()
	return nil
}

// pushFront queues a request of the client itself before all others.
func (q *sendQueue) pushFront(r *request) error {
	if q.closed {
		return ErrClosed
	}
	q.requests = slices.Insert(q.requests, 0, r)
	q.wake.Set()
	return nil
}

// remove takes a request out. It returns false if it was sent already.
func (q *sendQueue) remove(r *request) bool {
	i := slices.Index(q.requests, r)
	if i < 0 {
		return false
	}
	q.requests = slices.Delete(q.requests, i, i+1)
	return true
}

// nextRequest returns the lines of the next request, which is pending from now
// on; or how long to wait until it may be sent; or nothing.
func (cn *connection) nextRequest() (lines []byte, wait time.Duration) {
	c := cn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if !cn.open || cn.failure != nil || len(c.queue.requests) == 0 {
		return nil, 0
	}
	if len(cn.urgent) > 0 {
		return nil, 0 // our JOINs among them: a message must not come before
	}
	if wait := cn.lines.Wait(time.Now()); wait > 0 {
		return nil, wait
	}
	r := c.queue.requests[0]
	c.queue.requests = slices.Delete(c.queue.requests, 0, 1)
	lines, err := cn.encodeLocked(r)
	if err != nil {
		r.completeLocked(err)
		return nil, time.Nanosecond // look for the next one
	}
	cn.pending = append(cn.pending, r)
	close(r.sent)
	return lines, 0
}

// encodeLocked adds what the answer is recognised by: a label, or for a
// message a PING after it.
func (cn *connection) encodeLocked(r *request) ([]byte, error) {
	now := time.Now()
	cn.lines.Take(now)
	m := r.message
	if !cn.caps["message-tags"] {
		m.Tags = nil
	}
	if cn.caps["labeled-response"] && cn.caps["batch"] {
		r.label = cn.client.nextLabelLocked()
		m.Tags = m.Tags.With("label", r.label)
		cn.byLabel[r.label] = r
		return m.Append(nil)
	}
	lines, err := m.Append(nil)
	if err != nil || !r.fenced {
		return lines, err
	}
	cn.lines.Take(now)
	r.fence = "den-" + cn.client.nextLabelLocked()
	return Message{Command: "PING", Params: []string{r.fence}}.Append(lines)
}

// refuseAll ends all requests of a client that has ended.
func (c *Client) refuseAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.closed = true
	for _, r := range c.queue.requests {
		r.completeLocked(ErrClosed)
	}
	c.queue.requests = nil
}

// A Bucket paces a stream: burst at once, then rate a second. It is not safe
// for use by several goroutines.
type Bucket struct {
	rate, burst float64
	tokens      float64
	at          time.Time // of the last Take, or zero
}

// NewBucket returns a full bucket.
func NewBucket(rate float64, burst int) Bucket {
	return Bucket{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

// Take takes one and returns how long to wait before it may be used.
func (b *Bucket) Take(now time.Time) time.Duration {
	b.refill(now)
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// Wait returns how long it takes until one may be used.
func (b *Bucket) Wait(now time.Time) time.Duration {
	b.refill(now)
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1 - b.tokens) / b.rate * float64(time.Second))
}

func (b *Bucket) refill(now time.Time) {
	if !b.at.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
}
