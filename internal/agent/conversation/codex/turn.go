package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/fault"
)

// endedTurn is what is read of a turn.
type endedTurn struct {
	ID         string         `json:"id"`
	Status     string         `json:"status"` // inProgress, completed, interrupted or failed
	DurationMs int64          `json:"durationMs"`
	Error      *jsonrpc.Error `json:"error"`
}

func (t endedTurn) over() bool { return t.Status != "" && t.Status != "inProgress" }

type tokens struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
}

// turnNote is what was told of a turn.
type turnNote struct {
	endedTurn
	usage conversation.Usage
}

// maxTurns bounds how many turns are remembered: the oldest go.
const maxTurns = 64

// turn returns the note of a turn, and makes it where there is none.
func (m *model) turn(id string) *turnNote {
	if i := slices.IndexFunc(m.turns, func(t turnNote) bool { return t.ID == id }); i >= 0 {
		return &m.turns[i]
	}
	m.turns = append(m.turns, turnNote{endedTurn: endedTurn{ID: id}})
	if len(m.turns) > maxTurns {
		m.turns = slices.Delete(m.turns, 0, 1)
	}
	return &m.turns[len(m.turns)-1]
}

func (m *model) noteTurn(t endedTurn) {
	if t.ID != "" {
		m.turn(t.ID).endedTurn = t
	}
}

// noteUsage adds what one call of the model used.
func (m *model) noteUsage(id string, used tokens) {
	if id == "" {
		return
	}
	n := m.turn(id)
	n.usage.InputTokens += used.Input
	n.usage.OutputTokens += used.Output
}

// item is what is read of a part of a turn. Which fields it has depends on its
// type.
type item struct {
	Type     string `json:"type"`
	ClientID string `json:"clientId"` // of userMessage: who sent it chose it
	Text     string `json:"text"`     // of agentMessage
	Content  parts  `json:"content"`  // of userMessage

	StartedMs int64 `json:"startedAtMs"`

	Command   string          `json:"command"`
	Changes   json.RawMessage `json:"changes"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Query     string          `json:"query"`
}

// parts are the texts of a user's message. Items of other types have other
// things in the same place; they are ignored.
type parts string

// UnmarshalJSON joins the texts.
func (p *parts) UnmarshalJSON(data []byte) error {
	var all []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, one.Text)
	}
	*p = parts(strings.Join(texts, "\n"))
	return nil
}

// listed is an item as the server lists it.
type listed struct {
	Turn string `json:"turnId"`
	Item item   `json:"item"`
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
		switch name, input := one.Item.tool(); {
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
		return l.Item.Type == "userMessage" && m.Is(string(l.Item.Content), time.UnixMilli(l.Item.StartedMs))
	}), conversation.Matched
}

// tool names the tool that an item is a use of, or "", and gives its input.
func (it item) tool() (name, input string) {
	var given any
	switch it.Type {
	case "commandExecution":
		name, given = "shell", map[string]string{"command": it.Command}
	case "fileChange":
		name, given = "apply_patch", map[string]json.RawMessage{"changes": it.Changes}
	case "mcpToolCall":
		name, given = "mcp__"+it.Server+"__"+it.Tool, it.Arguments
	case "dynamicToolCall":
		name, given = it.Tool, it.Arguments
	case "webSearch":
		name, given = "web_search", map[string]string{"query": it.Query}
	default:
		return "", ""
	}
	data, err := json.Marshal(given)
	if err != nil {
		return name, "" // arguments that are no JSON
	}
	return name, string(data)
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
