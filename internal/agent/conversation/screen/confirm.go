package screen

import (
	"context"
	"errors"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
)

// lateReceipts finds evidence for messages that were sent before. It belongs to
// watchState.
type lateReceipts struct {
	talk *Conversation
	// emptied is when the input of a program was last found to be read, zero
	// where it was not.
	emptied time.Time
}

// checkInput asks the kernel whether a busy program has read its input since.
// The input of a program that is being killed is empty, too: so it counts when
// the same program still runs at the next check.
func (l *lateReceipts) checkInput(ctx context.Context) error {
	c := l.talk
	waiting := c.queue.Expecting(outbox.ExpectRead)
	if len(waiting) == 0 {
		l.emptied = time.Time{}
		return nil
	}
	in, err := c.input(ctx)
	life := c.life(ctx) // after the input: an earlier program's is not this one's
	if err != nil || in.Unread > 0 || life == "" {
		l.emptied = time.Time{}
		return nil // it has ended, cannot be asked now, or is still busy
	}
	before := l.emptied
	l.emptied = time.Now()
	for _, m := range waiting {
		switch {
		case m.Life != life:
			err = errors.Join(err, c.queue.Update(m.ID, func(m *outbox.Message) { m.Expect = "" })) // nobody will know any more
		case m.Updated.Before(before): // never where before is zero
			err = errors.Join(err, c.finish(m.ID, taken(byKernel), ""))
		}
	}
	return err
}

// checkSource asks the agent's own protocol for messages that it did not show
// before. It is called when the state has changed: an agent that takes a
// message begins to work.
func (l *lateReceipts) checkSource(ctx context.Context) error {
	c := l.talk
	confirmer, ok := c.source.(conversation.Confirmer)
	if !ok {
		return nil
	}
	for _, m := range c.queue.Expecting(outbox.ExpectSource) {
		r, found, err := confirmer.Confirm(ctx, m.ID)
		if err != nil || !found {
			continue // Best effort: it is asked again at the next change.
		}
		if err := c.finish(m.ID, taken(r.Evidence), ""); err != nil {
			return err
		}
	}
	return nil
}
