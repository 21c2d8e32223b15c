package screen

import (
	"context"
	"errors"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
)

const (
	// wholePatience is how long a question that its source tells in part may
	// take to be on the screen.
	wholePatience = 3 * time.Second
	// lookPause is how often a question is looked at that must stand first.
	lookPause = 100 * time.Millisecond
)

// stateTeller tells of changes of an agent's state, each once.
type stateTeller struct {
	talk *Conversation
	late *lateReceipts
	told seen

	next  seen      // is told when it has stood
	since time.Time // when that was first seen; zero for none
}

// waits reports whether a state is to be looked at again soon.
func (t *stateTeller) waits() bool { return !t.since.IsZero() }

// again receives when that is; never where there is none.
func (t *stateTeller) again() <-chan time.Time {
	if !t.waits() {
		return nil
	}
	return time.After(lookPause)
}

// look reads the state and tells of it if it is another one. Whoever asks for
// the last state has it at once.
func (t *stateTeller) look(ctx context.Context) error {
	now, err := t.talk.look(ctx)
	if err != nil || ctx.Err() != nil {
		return nil // nobody could be asked: the next look may tell
	}
	if t.told.same(now) {
		t.since = time.Time{}
		t.keep(&now, t.told.Since)
		t.told = now
		return nil
	}
	if !t.waits() || !t.next.same(now) || t.next.whole() != now.whole() {
		t.since = time.Now()
		t.next = seen{}
	}
	t.keep(&now, t.next.Since)
	t.next = now
	if time.Since(t.since) < t.mustStand(now) {
		return nil
	}
	t.since = time.Time{}
	err = errors.Join(t.late.checkSource(ctx), t.talk.stateChanged(t.told, now))
	t.told = now
	if now.Activity == conversation.Ready && !t.talk.hints.CodingAgent && !t.talk.knowsPrompt() {
		t.talk.LearnLine(ctx)
	}
	return err
}

// keep keeps a state that began at a time, if it does not say when itself.
func (t *stateTeller) keep(now *seen, since time.Time) {
	if now.Since.IsZero() {
		now.Since = since
	}
	if now.Since.IsZero() {
		now.Since = t.talk.clock()
	}
	t.talk.keepState(now.State)
}

// mustStand is how long a state must be seen before it is told. A screen may
// be half drawn, and a question is told when it is known whole.
func (t *stateTeller) mustStand(s seen) time.Duration {
	switch {
	case s.Activity != conversation.Asking:
		return 0
	case !s.whole():
		return wholePatience
	case s.partial || s.Source == screenSource:
		return t.talk.profile.pauses.DialogStands.Duration
	}
	return 0
}

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
