package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/codex/wire"
	"den/internal/base/fault"
)

// turnNote is what was told of a turn.
type turnNote struct {
	wire.Turn
	usage conversation.Usage
}

func (t turnNote) over() bool { return t.Status != "" && t.Status != "inProgress" }

// maxTurns bounds how many turns are remembered: the oldest go.
const maxTurns = 64

// turn returns the note of a turn, and makes it where there is none.
func (m *model) turn(id string) *turnNote {
	if i := slices.IndexFunc(m.turns, func(t turnNote) bool { return t.ID == id }); i >= 0 {
		return &m.turns[i]
	}
	m.turns = append(m.turns, turnNote{Turn: wire.Turn{ID: id}})
	if len(m.turns) > maxTurns {
		m.turns = slices.Delete(m.turns, 0, 1)
	}
	return &m.turns[len(m.turns)-1]
}

func (m *model) noteTurn(t wire.Turn) {
	if t.ID != "" {
		m.turn(t.ID).Turn = t
	}
}

// noteUsage adds what one call of the model used.
func (m *model) noteUsage(id string, used wire.Tokens) {
	if id == "" {
		return
	}
	n := m.turn(id)
	n.usage.InputTokens += used.Input
	n.usage.OutputTokens += used.Output
}

// listed is an item as the server lists it.
type listed struct {
	Turn string    `json:"turnId"`
	Item wire.Item `json:"item"`
}

// replyIn finds a message among a thread's items, the oldest first, and reads
// what the agent said behind it in the same turn, whose id it returns. A
// message that came too late for its turn is answered in the next, which has no
// message of its own then. The certainty is less where another message joined
// the turn later: the last text may answer both.
func replyIn(items []listed, m conversation.Asked) (r conversation.Reply, turn string, found bool) {
	at, certainty := find(items, m)
	if at < 0 {
		return r, "", false
	}
	turn = items[at].Turn
	r = conversation.Reply{Source: RecordName, Certainty: certainty}
	for _, one := range items[at+1:] {
		if one.Turn != turn && (r.Text != "" || one.Item.Type == "userMessage") {
			break
		}
		turn = one.Turn
		switch name, input := tool(&one.Item); {
		case one.Item.Type == "userMessage":
			r.Certainty = conversation.Likely
		case one.Item.Type == "agentMessage" && one.Item.Text != "":
			r.Text = one.Item.Text
		case name != "":
			r.Tools = append(r.Tools, conversation.ToolUse{Name: name, Input: input})
		}
	}
	return r, turn, true
}

// find returns where a message is: by its id, or by its text where it was
// typed; -1 for nowhere.
func find(items []listed, m conversation.Asked) (int, conversation.Certainty) {
	byID := slices.IndexFunc(items, func(l listed) bool { return l.Item.Type == "userMessage" && l.Item.ClientID == m.ID })
	if byID >= 0 {
		return byID, conversation.Exact
	}
	return slices.IndexFunc(items, func(l listed) bool {
		return l.Item.Type == "userMessage" && m.Is(strings.Join(l.Item.Content, "\n"), time.UnixMilli(l.Item.StartedMs))
	}), conversation.Matched
}

// tool names the tool that an item is a use of, or "", and gives its input.
func tool(it *wire.Item) (name, input string) {
	given := any(it.Arguments)
	switch it.Type {
	case "commandExecution":
		given = map[string]string{"command": it.Command}
	case "fileChange":
		given = map[string]json.RawMessage{"changes": it.Changes}
	case "webSearch":
		given = map[string]string{"query": it.Query}
	case "mcpToolCall", "dynamicToolCall":
	default:
		return "", ""
	}
	data, err := json.Marshal(given)
	if err != nil {
		return it.ToolName(), "" // arguments that are no JSON
	}
	return it.ToolName(), string(data)
}

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
