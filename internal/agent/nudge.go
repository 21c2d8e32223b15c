package agent

import (
	"context"
	"fmt"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
)

// KeepNudge keeps a nudge and waits for nothing. Every error names it.
func (m *Managed) KeepNudge(ctx context.Context, id, text string) (outbox.Message, error) {
	n, err := m.Keep(ctx, conversation.Message{ID: id, Text: text})
	if err != nil && id != "" {
		return n, fmt.Errorf("nudge agent '%s': %s: %w", m.name, id, err)
	}
	if err != nil {
		return n, fmt.Errorf("nudge agent '%s': %w", m.name, err)
	}
	return n, nil
}

// DeliverNudge returns when the outcome of a nudge that is kept is known; if the
// context ends before, the nudge stays queued, and the error says so.
func (m *Managed) DeliverNudge(ctx context.Context, id string) (outbox.Message, error) {
	n, err := m.Deliver(ctx, id)
	switch {
	case err == nil:
		return n, nil
	case !n.Status.Final():
		return n, fault.Hintf(fault.Errorf(fault.Timeout, "nudge agent '%s': %s stays queued (%s): %w", m.name, n.ID, n.Reason, err),
			"it is typed as soon as the agent takes input")
	}
	return n, fmt.Errorf("nudge agent '%s': %s: %w", m.name, n.ID, err)
}

// PendingNudges counts the nudges that wait.
func (m *Managed) PendingNudges() int { return m.nudges.Pending() }
