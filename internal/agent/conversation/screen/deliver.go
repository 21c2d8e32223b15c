package screen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
)

// Keep writes a message down, for Run or Deliver to hand it over.
func (c *Conversation) Keep(_ context.Context, m conversation.Message) (outbox.Message, error) {
	return c.queue.Add(m.ID, m.Text)
}

// Deliver sends what is queued until the message with the id has come to its
// end. If the context ends before, the message stays queued.
func (c *Conversation) Deliver(ctx context.Context, id string) (outbox.Message, error) {
	err := c.deliver(ctx, id)
	m, gerr := c.queue.Get(id)
	switch {
	case gerr != nil:
		return outbox.Message{ID: id}, gerr
	case m.Status == conversation.Failed:
		return m, cannotBeSent(m)
	case m.Status.Final():
		return m, nil
	}
	return m, err
}

// cannotBeSent is the error of a message that failed.
func cannotBeSent(m outbox.Message) error {
	return fault.Hintf(fault.Errorf(fault.Usage, "it cannot be sent: %s", m.Reason), "change the text, or put it into a file and name that")
}

// deliver sends what is queued, in order, until the message with the id has
// come to its end; all of it without an id.
func (c *Conversation) deliver(ctx context.Context, id string) error {
	over := func() bool {
		m, err := c.queue.Get(id)
		return err == nil && m.Status.Final()
	}
	claimed := false
	// Another caller may be sending, and bring this one to its end meanwhile.
	err := poll.Until(ctx, func() (bool, error) {
		if over() {
			return true, nil
		}
		claimed = c.queue.TryClaim()
		return claimed, nil
	})
	if !claimed {
		return err
	}
	defer c.queue.Release()
	for !over() {
		m, ok := c.queue.Next()
		if !ok {
			return nil
		}
		if err := c.sendOne(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// sendOne brings one message to its end, or returns the context's error.
func (c *Conversation) sendOne(ctx context.Context, m outbox.Message) error {
	if m.Status == outbox.Sending {
		if ended, err := c.resume(ctx, m); ended || err != nil {
			return err
		}
	}
	for {
		before, err := c.awaitClear(ctx, m)
		if fault.KindOf(err) == fault.Usage {
			return c.finish(m.ID, outcome{progress: conversation.Failed, evidence: err.Error()}, "")
		}
		if err != nil {
			return err
		}
		c.noteBefore(ctx, m.ID, before)
		life := c.life(ctx)
		err = c.queue.Update(m.ID, func(m *outbox.Message) {
			m.Status, m.Before, m.Life, m.Reason, m.Handed = outbox.Sending, hash(before), life, "", time.Now()
			m.Attempts++
		})
		if err != nil {
			return err
		}
		again, err := c.hand(ctx, m, before)
		if err != nil || !again {
			return err
		}
	}
}

// hand gives the message to the agent and finds out what became of it. From
// here on the caller's context does not matter, unless it ended with the agent:
// half a message helps nobody. again is true where it was certainly not sent.
func (c *Conversation) hand(caller context.Context, m outbox.Message, before string) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), 20*time.Second+2*c.timing.Confirm+c.timing.Patience)
	defer cancel()
	agentEnded := func() bool { return errors.Is(context.Cause(caller), conversation.ErrAgentEnded) }
	defer context.AfterFunc(caller, func() {
		if agentEnded() {
			cancel()
		}
	})()
	life := c.life(ctx)
	var o outcome
	err = c.whileTyping(ctx, func() (err error) {
		o, err = c.transmit(ctx, m, before)
		return err
	})
	switch fault.KindOf(err) {
	case fault.Usage, fault.Unsupported:
		return false, c.finish(m.ID, outcome{progress: conversation.Failed, evidence: err.Error()}, "")
	case fault.NotFound, fault.NotRunning, fault.Busy:
		// Nothing was typed, or what it was typed at is gone.
		return true, c.queue.Update(m.ID, func(m *outbox.Message) { m.Status, m.Reason = conversation.Queued, err.Error() })
	}
	if err != nil && o.progress == conversation.Failed { // its source knows that it does not have it
		return c.refused(m.ID, err)
	}
	if err != nil {
		o.progress, o.evidence = conversation.Sent, err.Error()
	}
	switch another := c.life(ctx) != life; {
	case agentEnded() && o.progress == conversation.Sent, another && o.expect != outbox.ExpectSource:
		o = sent("the agent ended while it was typed") // what was seen may be another one's
	}
	return false, c.finish(m.ID, o, life)
}

// maxRefusals bounds how often a message is offered to a source that refuses it.
const maxRefusals = 3

// refused is what becomes of a message that the agent's source did not take: it
// is offered again a few times.
func (c *Conversation) refused(id string, why error) (again bool, err error) {
	m, err := c.queue.Get(id)
	switch {
	case err != nil:
		return false, err
	case m.Attempts >= maxRefusals:
		return false, c.finish(id, outcome{progress: conversation.Failed, evidence: why.Error()}, "")
	}
	return true, c.queue.Update(id, func(m *outbox.Message) { m.Status, m.Reason = conversation.Queued, why.Error() })
}

// transmit sends the message in the way that tells most of what becomes of it.
// An error of a kind that hand knows means that nothing was sent.
func (c *Conversation) transmit(ctx context.Context, m outbox.Message, before string) (outcome, error) {
	if s, ok := c.source.(conversation.Sender); ok {
		r, err := s.Send(ctx, conversation.Message{ID: m.ID, Text: m.Text})
		if fault.KindOf(err) != fault.Unsupported {
			c.mustType.Store(false)
			o := outcome{progress: r.Progress, evidence: r.Evidence}
			if r.Progress == conversation.Sent {
				o.expect = outbox.ExpectSource
			}
			return o, err
		}
		if !c.mustType.Swap(true) {
			// Its line was not looked at: somebody's text may stand there.
			return outcome{}, fault.Errorf(fault.Busy, "it is typed, because %w", err)
		}
	}
	if c.hasComposer() {
		return c.throughComposer(ctx, m.Text)
	}
	return c.throughLine(ctx, m.Text, before)
}

// resume brings a message to its end that was being sent when another process
// ended. ended is false where it was certainly not sent.
func (c *Conversation) resume(ctx context.Context, m outbox.Message) (ended bool, err error) {
	// Also in a start: the text stands there already, and must not stay.
	if why, screen, err := c.sessionObstacle(ctx, m.Text); err != nil {
		return false, err
	} else if why == "" && c.standsTyped(ctx, screen, m.Text) {
		life := c.life(ctx)
		var o outcome
		err := c.whileTyping(ctx, func() error {
			o = c.submit(ctx, m.Text, screen)
			return nil
		})
		if err != nil {
			return false, err
		}
		return true, c.finish(m.ID, o, life)
	}
	if !c.untouched(ctx, m) {
		return true, c.finish(m.ID, c.unsure(), "")
	}
	return false, c.queue.Update(m.ID, func(m *outbox.Message) { m.Status = conversation.Queued })
}

// unsure is a message of which nobody knows whether it was sent. Where the
// agent's own protocol may have it, that can tell later.
func (c *Conversation) unsure() outcome {
	const why = "the keeper ended while it was typed"
	if _, ok := c.source.(conversation.Confirmer); ok {
		return later(why, outbox.ExpectSource)
	}
	return sent(why)
}

// untouched reports whether a message that was about to be typed when the
// process ended was certainly not: the agent takes input, and its screen is
// the one from before. An agent that was started anew shows that screen, too,
// and says nothing of what the one before has read.
func (c *Conversation) untouched(ctx context.Context, m outbox.Message) bool {
	if running, err := c.provider.IsRunning(ctx, c.session); err != nil || !running || !c.Ready(ctx) {
		return false
	}
	screen, err := c.peek(ctx, messageLines)
	return err == nil && m.Before != "" && hash(screen) == m.Before && c.life(ctx) == m.Life && c.showsTyping(ctx)
}

// showsTyping reports whether what is typed is seen: in the composer, or by the
// terminal's echo. Any other program may read a text and show nothing.
func (c *Conversation) showsTyping(ctx context.Context) bool {
	if c.hasComposer() {
		return true
	}
	in, err := c.input(ctx)
	return err == nil && in.Echo && in.Unread == 0
}

// finish writes down what became of a message, and tells. life is the start of
// the session that it was sent to.
func (c *Conversation) finish(id string, o outcome, life string) error {
	return c.queue.Finish(id, o.noted(life))
}

// hash stands for a screen in a record.
func hash(screen string) string {
	sum := sha256.Sum256([]byte(screen))
	return hex.EncodeToString(sum[:])
}

// outcome is what is known of a message that was handed over.
type outcome struct {
	progress conversation.Progress
	evidence string        // or what was missing
	expect   outbox.Expect // what may still show that it was taken, or ""
}

func taken(evidence string) outcome {
	return outcome{progress: conversation.Taken, evidence: evidence}
}

// sent is a message that nothing shows the agent to have taken.
func sent(why string) outcome { return outcome{progress: conversation.Sent, evidence: why} }

// later is sent, of which more may become known.
func later(why string, e outbox.Expect) outcome {
	return outcome{progress: conversation.Sent, evidence: why, expect: e}
}

// enterMissing is a message whose text was typed and whose Enter was not, as far
// as is known.
func enterMissing(err error) outcome {
	if errors.Is(err, provider.ErrUnanswered) {
		return sent("the text was typed, Enter perhaps: " + err.Error())
	}
	return sent("the text was typed, Enter was not: " + err.Error())
}

// noted writes the outcome of a message down. life is the start of the session
// that it was sent to.
func (o outcome) noted(life string) func(*outbox.Message) {
	return func(m *outbox.Message) {
		m.Status, m.Reason, m.Expect, m.Life = o.progress, o.evidence, o.expect, life
		if o.expect == outbox.ExpectRead && life == "" {
			m.Expect = "" // nobody could tell whose input is read
		}
		if m.Expect == "" {
			m.Life = ""
		}
	}
}
