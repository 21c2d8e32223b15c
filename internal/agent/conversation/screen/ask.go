package screen

import (
	"context"
	"fmt"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/base/poll"
)

const (
	// askPause is how often an agent is looked at whose reply is awaited, and
	// busyPause how often its record is read while it works.
	askPause  = 100 * time.Millisecond
	busyPause = 2 * time.Second
	// decisionStands is how long a question must be open before it is reported:
	// those of a start are answered by den.
	decisionStands = 2 * time.Second
	// afterWork is how long an agent must be ready before its turn is taken for
	// over where its record does not say so, and withoutWork is that for one
	// that was not seen working: it may not have begun.
	afterWork   = 3 * time.Second
	withoutWork = 10 * time.Second
)

// Ask keeps a message, waits until Run has handed it over, and returns the
// agent's reply. Questions to one agent are asked one after the other. If the
// context ends before, the message stays, and the same id waits for its reply
// again.
func (c *Conversation) Ask(ctx context.Context, m conversation.Message, o conversation.AskOptions) (conversation.Answer, error) {
	if o.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Limit)
		defer cancel()
	}
	r, err := c.reply(ctx, m)
	switch {
	case err != nil:
		return conversation.Answer{}, fmt.Errorf("ask agent '%s': %s: %w", c.agent, m.ID, err)
	case r.Failure != "":
		return conversation.Answer{}, fault.Errorf(fault.Internal, "the agent could not answer: %s", r.Failure)
	}
	return conversation.Answer{
		ID: m.ID, Text: r.Text, DurationMs: r.Duration.Milliseconds(), Usage: r.Usage, Tools: r.Tools, Cancelled: r.Cancelled,
		Attempts: 1, Source: r.Source, Certainty: r.Certainty,
	}, nil
}

// reply keeps a message and waits for its reply.
func (c *Conversation) reply(ctx context.Context, m conversation.Message) (conversation.Reply, error) {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return conversation.Reply{}, fault.Errorf(fault.Timeout, "it answers another question still; the message was not sent")
	}
	kept, err := c.queue.Add(m.ID, m.Text)
	if err == nil && kept.Forgotten {
		err = fault.Errorf(fault.NotFound, "the message was handed over (%s) and is not kept any more, nor is its answer", kept.Status)
	}
	if err != nil {
		return conversation.Reply{}, err
	}
	a := &ask{talk: c, message: kept, repeated: kept.Status.Final()}
	err = poll.Every(ctx, askPause, func() (bool, error) { return a.check(ctx) })
	if err != nil && ctx.Err() != nil {
		err = fault.Errorf(fault.Timeout, "it has not answered yet; the message stays (%s)", a.progress())
	}
	return a.reply, err
}

// ask is one question that waits for its reply.
type ask struct {
	talk     *Conversation
	message  outbox.Message
	repeated bool // it was handed over by an earlier call

	state  seen
	since  time.Time // when the state began, as far as it was seen
	worked bool      // the agent was seen working since the message was handed over
	read   time.Time // when its record was last read
	shown  shownReply

	reply conversation.Reply
}

// progress says how far the message has come.
func (a *ask) progress() string {
	if !a.message.Status.Final() && a.message.Reason != "" {
		return string(a.message.Status) + ": " + a.message.Reason
	}
	return string(a.message.Status)
}

// check looks once, and reports whether the reply is there.
func (a *ask) check(ctx context.Context) (bool, error) {
	m, err := a.talk.queue.Get(a.message.ID)
	if err != nil {
		return false, err
	}
	if m.Status == conversation.Failed {
		return false, cannotBeSent(m)
	}
	a.message = m
	a.observe(ctx)
	if err := a.decisionOpen(); err != nil {
		return false, err
	}
	unread := m.Expect == outbox.ExpectRead && a.state.Activity != conversation.Gone
	if !m.Status.Final() || unread {
		return false, nil // it is not handed over, or the program has not read it
	}
	return a.find(ctx)
}

// observe notes what the agent does now. A state that cannot be known is
// Unknown.
func (a *ask) observe(ctx context.Context) {
	s, err := a.talk.look(ctx)
	if err != nil {
		s = seen{State: conversation.State{Activity: conversation.Unknown, Why: err.Error()}}
	}
	if a.since.IsZero() || !a.state.same(s) {
		a.since = time.Now()
	}
	a.state = s
	a.worked = a.message.Status.Final() && (a.worked || s.Activity == conversation.Busy)
}

func (a *ask) stands(d time.Duration) bool { return time.Since(a.since) >= d }

// decisionOpen reports a question that somebody must decide first.
func (a *ask) decisionOpen() error {
	if a.state.Activity != conversation.Asking || !a.stands(decisionStands) {
		return nil
	}
	asks := "a decision"
	if q := a.state.Question; q != nil && q.Text != "" {
		asks += ": " + q.Text
	}
	return fault.Hintf(fault.Errorf(fault.Waiting, "it asks for %s; the message stays (%s)", asks, a.progress()),
		"decide with 'den agent attach %s', then ask with --id %s and the same text for the answer", a.talk.agent, a.message.ID)
}

// find looks for the reply: in the agent's record, else on its screen.
func (a *ask) find(ctx context.Context) (bool, error) {
	idle := a.state.Activity != conversation.Busy && a.state.Activity != conversation.Asking && a.state.Activity != conversation.Starting
	if !idle && time.Since(a.read) < busyPause {
		return false, nil
	}
	a.read = time.Now()
	r, err := a.record(ctx)
	known := err == nil
	switch kind := fault.KindOf(err); {
	case known && r.Ended:
		return a.done(r), nil
	case !idle:
		return false, nil
	case a.state.Activity == conversation.Gone && a.stands(decisionStands):
		return false, fault.Errorf(fault.NotRunning, "it ended before it answered")
	case a.state.Activity == conversation.Gone:
		return false, nil
	case kind == fault.Unsupported:
		return a.onScreen(ctx)
	case !a.stands(a.patience()):
		return false, nil // the record is behind, or the turn has not begun
	case known:
		return a.done(r), nil
	}
	return a.onScreen(ctx)
}

// patience is how long the agent must be ready for its turn to be over.
func (a *ask) patience() time.Duration {
	if a.worked || a.repeated {
		return afterWork
	}
	return withoutWork
}

// record reads the agent's own record of the conversation.
func (a *ask) record(ctx context.Context) (conversation.Reply, error) {
	replier, ok := a.talk.source.(conversation.Replier)
	if !ok {
		return conversation.Reply{}, fault.Errorf(fault.Unsupported, "it keeps no record")
	}
	return replier.ReplyTo(ctx, conversation.Asked{Message: conversation.Message{ID: a.message.ID, Text: a.message.Text}, Handed: a.message.Handed})
}

// done takes the reply.
func (a *ask) done(r conversation.Reply) bool {
	r.Ended = true
	if a.state.Activity == conversation.TurnFailed && r.Failure == "" && r.Text == "" {
		r.Failure = a.state.Why
	}
	if r.Duration == 0 && !a.repeated && !a.message.Handed.IsZero() {
		r.Duration = time.Since(a.message.Handed)
	}
	a.reply = r
	return true
}
