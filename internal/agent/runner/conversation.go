package runner

import (
	"context"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

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

// Follow calls tell now and whenever the state may have changed, until the
// context ends or tell fails. Changes that come meanwhile are told as one.
func (r *Runner) Follow(ctx context.Context, tell func() error) error {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if err := tell(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// tellState has those who follow the state look at it.
func (r *Runner) tellState() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// noteTools keeps which tools a message of the agent uses.
func (r *Runner) noteTools(p Prompt, m *Message) {
	for _, b := range m.Content {
		if b.Type == BlockToolUse {
			r.tools.add(p.ID, &conversation.ToolUse{Name: b.Name, Input: string(b.Input)})
		}
	}
}
