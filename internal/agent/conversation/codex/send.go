package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/fault"
	"den/internal/base/poll"
)

// takeLimit is how long the server may take to show a message that it accepted,
// and takePause how often it is asked meanwhile.
const (
	takeLimit = 10 * time.Second
	takePause = 100 * time.Millisecond
)

// Send hands a message over by the server: it begins a turn, or is added to
// the one that runs. One that the thread has already is not sent again.
//
// That the server accepts a message is no evidence: what it accepts while it
// waits for an approval is lost when the turn is interrupted. So there must be
// no open decision, and the message must be among the thread's items.
func (s *Source) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	failed := conversation.Receipt{ID: m.ID, Progress: conversation.Failed, At: time.Now()}
	c, thread, err := s.target()
	if err != nil {
		return failed, err
	}
	running := s.isRunning(thread)
	if there, _ := has(ctx, c, thread, m.ID); there { // Best effort: before its first turn a thread cannot be asked.
		return taken(m.ID, thread), nil
	}
	input := []map[string]string{{"type": "text", "text": m.Text}}
	err = c.call(ctx, "turn/start", map[string]any{"threadId": thread, "input": input, "clientUserMessageId": m.ID}, nil)
	switch {
	case fault.KindOf(err) == fault.Protocol:
		return failed, err // it said no
	case err != nil:
		return conversation.Receipt{ID: m.ID, Progress: conversation.Sent, At: time.Now()}, err
	}
	for deadline := time.Now().Add(takeLimit); time.Now().Before(deadline); {
		if there, _ := has(ctx, c, thread, m.ID); there { // Best effort: it is asked again.
			if running {
				s.noteAdded(m.ID)
			}
			return taken(m.ID, thread), nil
		}
		if poll.Pause(ctx, takePause) != nil {
			break
		}
	}
	return conversation.Receipt{ID: m.ID, Progress: conversation.Sent, Evidence: "codex' server accepted it", At: time.Now()}, nil
}

// target is where a message goes, or why it must not.
func (s *Source) target() (*conn, string, error) {
	c, thread, err := s.current()
	if err != nil {
		return nil, "", fmt.Errorf("send to codex: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model.state().Activity == conversation.Asking {
		return nil, "", fault.Errorf(fault.Busy, "send to codex: it asks for a decision")
	}
	return c, thread, nil
}

// current is the thread that the screen shows.
func (s *Source) current() (*conn, string, error) {
	if why := s.Problem(); why != "" {
		return nil, "", fault.Errorf(fault.Unreachable, "%s", why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.model.main().ID
	if s.conn == nil || id == "" {
		return nil, "", fault.Errorf(fault.Unreachable, "it has no thread yet")
	}
	return s.conn, id, nil
}

// Confirm looks for a message in the thread.
func (s *Source) Confirm(ctx context.Context, id string) (conversation.Receipt, bool, error) {
	c, thread, err := s.current()
	if err != nil {
		return conversation.Receipt{}, false, fmt.Errorf("look for a message in codex: %w", err)
	}
	there, err := has(ctx, c, thread, id)
	return taken(id, thread), there, err
}

func taken(id, thread string) conversation.Receipt {
	return conversation.Receipt{ID: id, Progress: conversation.Taken, Evidence: "codex' thread " + thread + " has it", At: time.Now()}
}

// lastItems is how many items of a thread are looked through for a message.
const lastItems = 100

// has reports whether the thread has the message. Before its first turn it has
// none, and cannot be asked.
func has(ctx context.Context, c *conn, thread, id string) (bool, error) {
	ids, err := newest(ctx, c, thread, lastItems)
	return slices.Contains(ids, id), err
}

// newest returns the clients' ids of a thread's last items, the newest first;
// "" for what is no message of a client.
func newest(ctx context.Context, c *conn, thread string, limit int) ([]string, error) {
	var items struct {
		Data []listed `json:"data"`
	}
	if err := c.call(ctx, "thread/items/list", map[string]any{"threadId": thread, "sortDirection": "desc", "limit": limit}, &items); err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range items.Data {
		ids = append(ids, one.Item.ClientID)
	}
	return ids, nil
}

// Answer decides an open approval or question.
func (s *Source) Answer(ctx context.Context, id, option string) error {
	s.mu.Lock()
	r, open := s.model.find(id)
	c := s.conn
	s.mu.Unlock()
	if !open || c == nil {
		return fault.Errorf(fault.NotFound, "answer codex: question '%s' is not open", id)
	}
	result, err := r.answer(option)
	if err != nil {
		return err
	}
	return c.Write(ctx, jsonrpc.Message{ID: r.id, Result: result})
}

// answer is the result that decides the request.
func (r request) answer(option string) (json.RawMessage, error) {
	if !r.question.Offers(option) {
		return nil, fault.Errorf(fault.Usage, "answer codex: '%s' is no option of '%s'", option, r.question.Text)
	}
	result := any(map[string]string{"decision": option})
	if r.question.Kind == conversation.Choice {
		result = map[string]any{"answers": map[string]any{r.inputID: map[string]any{"answers": []string{option}}}}
	}
	data, err := json.Marshal(result)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "answer codex: %w", err)
	}
	return data, nil
}

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
	s.unsure.Set()
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
