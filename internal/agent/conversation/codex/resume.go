package codex

import (
	"context"
	"slices"
)

// isRunning reports whether a thread works on a turn.
func (s *Source) isRunning(thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	main := s.model.main()
	return main.ID == thread && main.Status.Type == "active"
}

// noteAdded remembers a message that was added to a running turn.
func (s *Source) noteAdded(id string) {
	s.mu.Lock()
	s.model.added = append(s.model.added, id)
	state := s.model.state()
	s.mu.Unlock()
	s.Set(state)
	s.wake()
}

// resumeTurn begins a turn where the last one has ended with a message of den's
// that codex did not ask its model about. The turn has no input: the message is
// in the thread already.
func (s *Source) resumeTurn(ctx context.Context, c *conn) error {
	s.mu.Lock()
	due, thread, added := s.model.unasked(), s.model.main().ID, slices.Clone(s.model.added)
	s.mu.Unlock()
	if !due {
		return nil
	}
	// Best effort: without it the message stays in the thread, and the model is
	// asked about it with the next one.
	_ = resumeAfter(ctx, c, thread, added)
	s.mu.Lock()
	s.model.added = slices.DeleteFunc(s.model.added, func(id string) bool { return slices.Contains(added, id) })
	s.mu.Unlock()
	s.refresh()
	return ctx.Err()
}

// resumeAfter begins a turn if one of the messages is the last item of the
// thread.
func resumeAfter(ctx context.Context, c *conn, thread string, added []string) error {
	ids, err := newest(ctx, c, thread, 1)
	if err != nil || len(ids) == 0 || !slices.Contains(added, ids[0]) {
		return err
	}
	return c.call(ctx, "turn/start", map[string]any{"threadId": thread, "input": []any{}}, nil)
}
