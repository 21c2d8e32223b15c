package agent

import (
	"context"
	"fmt"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
)

// Nudge keeps text on disk and types it when the agent can take it. It returns
// when the outcome is known; if the context ends before, the text stays queued,
// and the error says so. The same id is the same nudge; without one it is made.
// Every error names it.
func (m *Managed) Nudge(ctx context.Context, id, text string) (outbox.Message, error) {
	n, err := m.KeepNudge(id, text)
	if err != nil {
		return n, err
	}
	return m.DeliverNudge(ctx, n.ID)
}

// DeliverNudge is Nudge of one that is kept.
func (m *Managed) DeliverNudge(ctx context.Context, id string) (outbox.Message, error) {
	n, err := m.talk.Deliver(ctx, id)
	switch {
	case err == nil:
		return n, nil
	case !n.Status.Final():
		return n, fault.Hintf(fault.Errorf(fault.Timeout, "nudge agent '%s': %s stays queued (%s): %w", m.name, n.ID, n.Reason, err),
			"it is typed as soon as the agent takes input")
	}
	return n, fmt.Errorf("nudge agent '%s': %s: %w", m.name, n.ID, err)
}

// Ask keeps text on disk as Nudge does, and returns the agent's reply once
// DeliverNudges has handed it over and the turn is over.
func (m *Managed) Ask(ctx context.Context, id, text string) (conversation.Reply, error) {
	r, err := m.talk.Ask(ctx, conversation.Message{ID: id, Text: text})
	if err != nil {
		return r, fmt.Errorf("ask agent '%s': %s: %w", m.name, id, err)
	}
	return r, nil
}

// KeepNudge keeps a nudge and waits for nothing.
func (m *Managed) KeepNudge(id, text string) (outbox.Message, error) {
	n, err := m.nudges.Add(id, text)
	if err != nil && id != "" {
		return n, fmt.Errorf("nudge agent '%s': %s: %w", m.name, id, err)
	}
	if err != nil {
		return n, fmt.Errorf("nudge agent '%s': %w", m.name, err)
	}
	return n, nil
}

// LastState is what the agent does, as DeliverNudges last saw it.
func (m *Managed) LastState() conversation.State { return m.talk.LastState() }

// State returns what the agent does now.
func (m *Managed) State(ctx context.Context) (conversation.State, error) { return m.talk.State(ctx) }

// Answer decides an open question by one of its options.
func (m *Managed) Answer(ctx context.Context, question, option string) error {
	return m.talk.Answer(ctx, question, option)
}

// DeliverNudges types what is queued, now and later, until the context ends,
// and answers what the agent asks late. Its owner runs it in a goroutine of its
// own.
func (m *Managed) DeliverNudges(ctx context.Context) error { return m.talk.Run(ctx) }

// PendingNudges counts the nudges that wait.
func (m *Managed) PendingNudges() int { return m.nudges.Pending() }
