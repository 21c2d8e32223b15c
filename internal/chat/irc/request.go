package irc

import (
	"context"
	"errors"
	"slices"
	"time"

	"den/internal/base/fault"
)

// A request is a line that the server answers.
type request struct {
	doing   string // for errors: "join #c"
	message Message
	about   []string // folded names that a refusal of it mentions
	fenced  bool     // nothing may come back: a PING after it tells when it was handled
	// take collects a message of the answer. It returns whether the message
	// was one, and whether it was the last. It runs under Client.mu.
	take func(m Message) (used, last bool)
	// end is called when the server has handled the request and take has not
	// seen the last message. It returns the result.
	end func() error
	// lost returns the error of a request that was sent and whose answer
	// nobody will see.
	lost func(cause error) error

	sent   chan struct{} // closed when it was written
	result chan error    // capacity one
	done   bool
	label  string // or empty
	fence  string // what the PING after it says, or empty
}

func newRequest(doing string, m Message, about ...string) *request {
	return &request{
		doing: doing, message: m, about: about,
		take: func(Message) (bool, bool) { return false, false },
		end:  func() error { return nil },
		lost: func(cause error) error {
			return fault.Errorf(lostKind(cause), "%s: no answer: %w", doing, cause)
		},
		sent: make(chan struct{}), result: make(chan error, 1),
	}
}

// lostKind tells a caller or a server that took too long from a connection
// that was lost.
func lostKind(cause error) fault.Kind {
	if errors.Is(cause, context.Canceled) || fault.KindOf(cause) == fault.Timeout {
		return fault.Timeout
	}
	return fault.Unreachable
}

func (r *request) completeLocked(err error) {
	if !r.done {
		r.done = true
		r.result <- err
	}
}

func (r *request) lostLocked(cause error) { r.completeLocked(r.lost(cause)) }

// do queues a request and waits for its answer.
func (c *Client) do(ctx context.Context, r *request) error {
	c.mu.Lock()
	err := c.queue.push(r)
	c.mu.Unlock()
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "%s: %w", r.doing, err)
	}
	return c.await(ctx, r)
}

// ask is do for a query. Without labels answers are recognised by their order,
// so there is one query at a time.
func (c *Client) ask(ctx context.Context, r *request) error {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return fault.Errorf(fault.Timeout, "%s: waiting for an earlier request: %w", r.doing, ctx.Err())
	case <-c.ended:
		return ErrClosed
	}
	return c.do(ctx, r)
}

// await waits for the answer of a request that is queued.
func (c *Client) await(ctx context.Context, r *request) error {
	sent := r.sent
	var late <-chan time.Time
	for {
		select {
		case err := <-r.result:
			return err
		case <-sent:
			timer := time.NewTimer(c.cfg.Limits.Answer)
			defer timer.Stop()
			sent, late = nil, timer.C
		case <-late:
			return c.abandon(r, fault.Errorf(fault.Timeout, "no answer within %v", c.cfg.Limits.Answer))
		case <-ctx.Done():
			return c.abandon(r, ctx.Err())
		}
	}
}

// abandon gives a request up. If it was not sent it never will be.
func (c *Client) abandon(r *request, cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case err := <-r.result: // the answer came in the same moment
		return err
	default:
	}
	r.done = true
	if c.queue.remove(r) {
		if c.conn == nil && c.lastErr != nil {
			cause = c.lastErr
		}
		return fault.Errorf(fault.Unreachable, "%s: not sent: %w", r.doing, cause)
	}
	if c.conn != nil {
		c.conn.forgetLocked(r)
	}
	return r.lost(cause)
}

func (cn *connection) forgetLocked(r *request) {
	cn.pending = slices.DeleteFunc(cn.pending, func(p *request) bool { return p == r })
	delete(cn.byLabel, r.label)
}

// answerLocked gives a message to the request that it answers, if any. last
// tells that a labeled answer ends with this message.
func (cn *connection) answerLocked(m Message, label string, last bool) {
	if label != "" {
		if r := cn.byLabel[label]; r != nil {
			cn.feedLocked(r, m, last)
		}
		return
	}
	for _, r := range cn.pending {
		if r.label == "" && cn.feedLocked(r, m, false) {
			return
		}
	}
}

// feedLocked returns whether the message belongs to the request.
func (cn *connection) feedLocked(r *request, m Message, last bool) bool {
	if refusal := refusalOf(m); refusal != nil && (r.label != "" || cn.concerns(m, r)) {
		cn.completeLocked(r, refusal.asError(r.doing))
		return true
	}
	used, done := r.take(m)
	switch {
	case done:
		cn.completeLocked(r, nil)
	case last, r.fence != "" && m.Command == "PONG" && m.Last() == r.fence:
		cn.completeLocked(r, r.end())
		used = true
	}
	return used
}

func (cn *connection) completeLocked(r *request, err error) {
	cn.forgetLocked(r)
	r.completeLocked(err)
}

// concerns reports whether an error without a label is about a request: it
// names one of its targets, or its command.
func (cn *connection) concerns(m Message, r *request) bool {
	middle := m.Params[:max(len(m.Params)-1, 0)]
	if m.Command == "FAIL" {
		return len(middle) > 0 && middle[0] == r.message.Command
	}
	if len(middle) < 2 {
		return m.Command == ERR_NOTEXTTOSEND && r.message.Command == "PRIVMSG"
	}
	if m.Command == ERR_UNKNOWNCOMMAND || m.Command == ERR_NEEDMOREPARAMS {
		return middle[1] == r.message.Command
	}
	return slices.ContainsFunc(middle[1:], func(name string) bool {
		return slices.Contains(r.about, cn.isupport.Fold(name))
	})
}
