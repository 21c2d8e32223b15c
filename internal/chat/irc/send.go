package irc

import (
	"context"
	"strings"
	"time"

	"den/internal/base/fault"
)

// A Receipt is what is known of a message that was sent.
type Receipt struct {
	ID      string // of its last line, or empty: the server gives none
	Time    time.Time
	Lines   int    // that it was split into
	Certain bool   // the server accepted it; false: it may have refused it without saying
	Away    string // the message of a recipient who is away, or empty
}

// Send sends text to a channel or a nick, in as many lines as it needs, and
// returns when the server has accepted all of them. An error of kind unsure
// means that the connection was lost, or the server silent, after a line was
// written: nobody can know whether it was accepted.
func (c *Client) Send(ctx context.Context, target, text string) (Receipt, error) {
	return c.sendText(ctx, "PRIVMSG", target, text, nil)
}

// SendTagged is Send with tags for other clients, whose keys begin with '+'.
// Servers without message tags drop them.
func (c *Client) SendTagged(ctx context.Context, target, text string, tags Tags) (Receipt, error) {
	return c.sendText(ctx, "PRIVMSG", target, text, tags)
}

// Notice is Send for text that programs must not answer. Most servers report
// no errors about it: then the receipt is not certain.
func (c *Client) Notice(ctx context.Context, target, text string) (Receipt, error) {
	return c.sendText(ctx, "NOTICE", target, text, nil)
}

func (c *Client) sendText(ctx context.Context, command, target, text string, tags Tags) (Receipt, error) {
	doing := "send to " + target
	if !validTarget(target) {
		return Receipt{}, fault.Errorf(fault.Usage, "%s: not a valid channel or nick", doing)
	}
	c.mu.Lock()
	pieces := SplitText(text, c.roomLocked(command, target))
	sends := make([]*sending, len(pieces))
	requests := make([]*request, len(pieces))
	for i, piece := range pieces {
		sends[i] = c.newSendingLocked(doing, Message{Tags: tags, Command: command, Params: []string{target, piece}})
		requests[i] = sends[i].request
	}
	err := c.queue.push(requests...)
	c.mu.Unlock()
	switch {
	case len(pieces) == 0:
		return Receipt{}, fault.Errorf(fault.Usage, "%s: no text", doing)
	case err != nil:
		return Receipt{}, fault.Errorf(fault.KindOf(err), "%s: %w", doing, err)
	}
	return c.awaitAll(ctx, doing, sends)
}

// awaitAll waits for every line, also after one failed: each was queued, and
// the first error is the result.
func (c *Client) awaitAll(ctx context.Context, doing string, sends []*sending) (Receipt, error) {
	total := Receipt{Certain: true, Lines: len(sends)}
	var failed error
	for i, s := range sends {
		err := c.await(ctx, s.request)
		switch {
		case failed != nil:
		case err != nil && i > 0:
			failed = fault.Errorf(fault.KindOf(err), "%s: after %d of %d lines: %w", doing, i, len(sends), err)
		case err != nil:
			failed = err
		default:
			total.ID, total.Time = s.receipt.ID, s.receipt.Time
			total.Certain = total.Certain && s.receipt.Certain
			total.Away = s.receipt.Away
		}
	}
	if failed != nil {
		return Receipt{}, failed
	}
	return total, nil
}

func validTarget(target string) bool {
	m := Message{Command: "X", Params: []string{target, ""}}
	_, err := m.Append(nil)
	return err == nil && !strings.Contains(target, ",")
}

// What others may see of us where the server has not shown it.
const (
	guessedUser = 12 // ten characters and a tilde
	guessedHost = 64
)

// roomLocked is how much text one line to a target can have.
func (c *Client) roomLocked(command, target string) int {
	self := Source{Nick: c.cfg.Nick}
	if c.conn != nil {
		self = c.conn.self
	}
	source := len(c.cfg.Nick)
	source = max(source, len(self.Nick))
	if self.Host == "" {
		source += guessedUser + guessedHost + len("!@")
	} else {
		source += len("!"+self.User) + len("@"+self.Host)
	}
	return Room("", command, target) - source
}

// Split returns the lines that Send would cut text into now. Each of them is
// one line if it is sent alone.
func (c *Client) Split(target, text string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return SplitText(text, c.roomLocked("PRIVMSG", target))
}

// A sending is one line of a message on its way.
type sending struct {
	client  *Client
	request *request
	receipt Receipt
	echoed  bool
}

func (c *Client) newSendingLocked(doing string, m Message) *sending {
	s := &sending{client: c, request: newRequest(doing, m)}
	r := s.request
	r.about = []string{c.isupport.Fold(m.Params[0])}
	r.fenced = true
	r.take, r.end = s.take, s.end
	r.lost = func(cause error) error {
		return fault.Errorf(fault.Unsure, "%s: it was written, and whether the server accepted it is not known: %w", doing, cause)
	}
	return s
}

// take recognises our own message coming back, and what the server says of its
// recipient.
func (s *sending) take(m Message) (used, last bool) {
	cn, sent := s.client.conn, s.request.message
	if cn == nil {
		return false, false
	}
	sameTarget := func(i int) bool { return cn.isupport.CaseMapping.Equal(m.Param(i), sent.Params[0]) }
	switch {
	case m.Command == RPL_AWAY && sameTarget(1):
		s.receipt.Away = m.Last()
		return true, false
	case m.Command == sent.Command && sameTarget(0) && m.Last() == sent.Params[1] && cn.isSelf(ParseSource(m.Source).Nick):
		s.echoed = true
		e := cn.eventLocked(m, Source{}, true)
		s.receipt.ID, s.receipt.Time, s.receipt.Certain = m.Tags.Value("msgid"), e.Time, true
		return true, s.request.label == ""
	}
	return false, false
}

// end is called when the server has handled the line and reported no error.
func (s *sending) end() error {
	cn := s.client.conn
	switch {
	case s.echoed:
	case cn != nil && cn.caps["echo-message"] && s.request.message.Command == "PRIVMSG":
		return fault.Errorf(fault.Unsure, "%s: the server handled it without an error and did not return it", s.request.doing)
	case cn != nil && cn.caps["echo-message"]:
		return fault.Errorf(fault.Denied, "%s: the server did not accept it", s.request.doing)
	default:
		s.receipt.Time = time.Now()
		s.receipt.Certain = s.request.message.Command == "PRIVMSG"
		s.client.ownMessageLocked(s.request.message, s.receipt.Time)
	}
	return nil
}

// ownMessageLocked tells the caller of a message of ours that the server does
// not return, so that the stream of events is the same everywhere.
func (c *Client) ownMessageLocked(m Message, at time.Time) {
	cn := c.conn
	if cn == nil {
		return
	}
	e := cn.completeMessage(m, Event{From: cn.self, Own: true, Time: at, Target: m.Param(0), Tags: m.Tags})
	c.events.push(e)
}
