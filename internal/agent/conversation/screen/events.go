package screen

import (
	"context"

	"den/internal/agent/conversation"
)

// Events calls each with what happened after a sequence number, as far back as
// it is kept, and then with what happens. States are seen while Run runs.
func (c *Conversation) Events(ctx context.Context, after uint64, each func(conversation.Event) error) error {
	return c.events.Follow(ctx, after, each)
}
