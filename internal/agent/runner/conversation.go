package runner

import (
	"context"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

var _ conversation.Conversation = (*Runner)(nil)

// Send queues a message.
func (r *Runner) Send(_ context.Context, m conversation.Message) (conversation.Receipt, error) {
	return r.SendPrompt(Prompt{ID: m.ID, Text: m.Text})
}

// Confirm tells what became of a message.
func (r *Runner) Confirm(_ context.Context, id string) (receipt conversation.Receipt, found bool, err error) {
	m, err := r.queue.Get(id)
	if fault.KindOf(err) == fault.NotFound {
		return conversation.Receipt{}, false, nil
	}
	return m.Receipt(), err == nil, err
}

// State is what the agent does now.
func (r *Runner) State(context.Context) (conversation.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stateLocked(), nil
}

func (r *Runner) stateLocked() conversation.State {
	s := conversation.State{Source: r.config.Driver.Name() + " protocol", Why: r.holdWhy}
	switch {
	case r.stop == nil:
		s.Activity = conversation.Gone
	case r.question != nil:
		s.Activity, s.Question = conversation.Asking, r.question
	case r.turn != nil:
		s.Activity, s.Since = conversation.Busy, r.turn.begun
	case r.failure != nil:
		s.Activity, s.Why = conversation.Broken, r.failure.WithAdvice()
	case r.session == nil:
		s.Activity = conversation.Starting
	default:
		s.Activity, s.Since = conversation.Ready, r.rested
	}
	return s
}

// Answer decides the open question.
func (r *Runner) Answer(ctx context.Context, question, option string) error {
	if r.config.Answer == nil {
		return fault.Errorf(fault.NotFound, "no question '%s'", question)
	}
	return r.config.Answer(ctx, question, option)
}

// Events calls each with what happened, and then with what happens.
func (r *Runner) Events(ctx context.Context, after uint64, each func(conversation.Event) error) error {
	return r.ring.Follow(ctx, after, each)
}

func (r *Runner) tell(e conversation.Event) {
	e.At = r.config.Clock()
	r.ring.Add(e)
}

func (r *Runner) tellState() {
	r.mu.Lock()
	s := r.stateLocked()
	r.mu.Unlock()
	r.tell(conversation.Event{Kind: conversation.StateChanged, State: &s})
}

func (r *Runner) tellMessage(p Prompt, m *Message) {
	for _, b := range m.Content {
		switch b.Type {
		case BlockText:
			r.tell(conversation.Event{Kind: conversation.Said, Turn: p.ID, Text: b.Text})
		case BlockToolUse:
			use := &conversation.ToolUse{Name: b.Name, Input: string(b.Input)}
			r.tools.add(p.ID, use)
			r.tell(conversation.Event{Kind: conversation.ToolUsed, Turn: p.ID, Tool: use})
		}
	}
}
