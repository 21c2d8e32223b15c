package agent

import (
	"context"
	"fmt"

	"den/internal/conversation/outbox"
	"den/internal/fault"
)

// Nudge keeps text on disk and types it when the agent can take it. It returns
// when the outcome is known; if the context ends before, the text stays queued,
// and the error says so.
func (m *Managed) Nudge(ctx context.Context, text string) (outbox.Message, error) {
	n, err := m.nudges.Add("", text)
	if err != nil {
		return n, fmt.Errorf("nudge agent '%s': %w", m.name, err)
	}
	n, err = m.talk.Deliver(ctx, n.ID)
	if err != nil && n.Status == outbox.Queued {
		return n, fault.Hintf(fault.Errorf(fault.Timeout, "nudge agent '%s': %s stays queued (%s): %w", m.name, n.ID, n.Reason, err),
			"it is typed as soon as the agent takes input")
	}
	return n, err
}

// DeliverNudges types what is queued, now and later, until the context ends,
// and answers what the agent asks late. Its owner runs it in a goroutine of its
// own.
func (m *Managed) DeliverNudges(ctx context.Context) error { return m.talk.Run(ctx) }

// PendingNudges counts the nudges that wait.
func (m *Managed) PendingNudges() int { return m.nudges.Pending() }
