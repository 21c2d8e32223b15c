package agent

import (
	"context"

	"den/internal/agent/conversation/outbox"
)

// Nudge keeps a nudge and waits for its outcome, as a keeper does for who waits.
func (m *Managed) Nudge(ctx context.Context, id, text string) (outbox.Message, error) {
	n, err := m.KeepNudge(ctx, id, text)
	if err != nil {
		return n, err
	}
	return m.DeliverNudge(ctx, n.ID)
}
