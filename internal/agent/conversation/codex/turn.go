package codex

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/jsonrpc"
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
