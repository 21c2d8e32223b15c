package codex

import (
	"context"
	"fmt"
	"slices"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// RecordName is what Reply.Source says.
const RecordName = "codex app-server"

// maxPages bounds how far back a message is looked for, in pages of lastItems.
const maxPages = 20

var _ conversation.Replier = (*Source)(nil)

// ReplyTo asks the server for the thread's items. That the turn is over is what
// the server tells, or that the thread does nothing.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	c, thread, err := s.current()
	if err != nil {
		return conversation.Reply{}, fmt.Errorf("read codex' thread: %w", err)
	}
	s.mu.Lock()
	idle := s.model.idle(thread)
	s.mu.Unlock()
	items, err := back(ctx, c, thread, m) // after the state: they are no older
	if err != nil {
		return conversation.Reply{}, err
	}
	r, turn, found := replyIn(items, m)
	if !found {
		return r, fault.Errorf(fault.NotFound, "codex' thread %s does not have the message", thread)
	}
	s.mu.Lock()
	note := *s.model.turn(turn)
	s.mu.Unlock()
	return note.complete(r, idle), nil
}

// idle reports whether a thread works on nothing and is about to work on
// nothing.
func (m *model) idle(thread string) bool {
	main := m.main()
	return main.ID == thread && main.Status.Type != "active" && !m.unasked()
}

// complete adds what is known of the turn.
func (t turnNote) complete(r conversation.Reply, idle bool) conversation.Reply {
	r.Usage, r.Duration = t.usage, time.Duration(t.DurationMs)*time.Millisecond
	// A turn that ended well and said nothing may be one that the message came
	// too late for.
	r.Ended = t.over() && (r.Text != "" || t.Status != "completed") || idle && r.Text != ""
	r.Cancelled = t.Status == "interrupted"
	if t.Status == "failed" {
		r.Failure = "its turn failed"
		if t.Error != nil {
			r.Failure = t.Error.Message
		}
	}
	return r
}

// back lists a thread's items, the oldest first, from its end back to the
// message, or as far back as it is looked for.
func back(ctx context.Context, c *conn, thread string, m conversation.Asked) ([]listed, error) {
	var all []listed // the newest first
	cursor := ""
	for range maxPages {
		query := map[string]any{"threadId": thread, "sortDirection": "desc", "limit": lastItems}
		if cursor != "" {
			query["cursor"] = cursor
		}
		var page struct {
			Data []listed `json:"data"`
			Next string   `json:"nextCursor"`
		}
		if err := c.call(ctx, "thread/items/list", query, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if _, certainty := find(page.Data, m); certainty == conversation.Exact || page.Next == "" || reaches(page.Data, m.Handed) {
			break
		}
		cursor = page.Next
	}
	slices.Reverse(all)
	return all, nil
}

// reaches reports whether a page of items, the newest first, goes back to a
// time.
func reaches(page []listed, at time.Time) bool {
	return slices.ContainsFunc(page, func(l listed) bool {
		return l.Item.StartedMs > 0 && time.UnixMilli(l.Item.StartedMs).Before(at.Truncate(time.Millisecond))
	})
}
