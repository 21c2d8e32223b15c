package runner

import (
	"encoding/json"
	"unicode/utf8"
)

// Message is what an agent said, in one shape for all vendors.
type Message struct {
	Type    string  `json:"type"` // "assistant"
	Model   string  `json:"model"`
	Content []Block `json:"content"`
}

// Block is a part of a message. Its Type says which fields it has.
type Block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text,omitempty"`     // of BlockText
	Thinking string          `json:"thinking,omitempty"` // of BlockThinking
	ID       string          `json:"id,omitempty"`       // of BlockToolUse
	Name     string          `json:"name,omitempty"`     // of BlockToolUse
	Input    json.RawMessage `json:"input,omitempty"`    // of BlockToolUse; an object
}

// The types of blocks.
const (
	BlockText     = "text"
	BlockThinking = "thinking"
	BlockToolUse  = "tool_use"
)

// Say makes a message of one text.
func Say(model, text string) *Message {
	return &Message{Type: "assistant", Model: model, Content: []Block{{Type: BlockText, Text: text}}}
}

// Think makes a message of one thought.
func Think(model, text string) *Message {
	return &Message{Type: "assistant", Model: model, Content: []Block{{Type: BlockThinking, Thinking: text}}}
}

// UseTool makes a message of one use of a tool. Input that is no JSON object
// becomes one.
func UseTool(model, id, name string, input json.RawMessage) *Message {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil || object == nil {
		wrapped, err := json.Marshal(map[string]json.RawMessage{"value": orNull(input)})
		if err != nil {
			wrapped = []byte("{}")
		}
		input = wrapped
	}
	return &Message{Type: "assistant", Model: model, Content: []Block{{Type: BlockToolUse, ID: id, Name: name, Input: input}}}
}

func orNull(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		text, err := json.Marshal(string(raw))
		if err == nil {
			return text
		}
		return json.RawMessage("null")
	}
	return raw
}

// Text returns the texts of a message, one under the other.
func (m *Message) Text() string {
	var all string
	for _, b := range m.Content {
		if b.Type != BlockText {
			continue
		}
		if all != "" {
			all += "\n"
		}
		all += b.Text
	}
	return all
}

const maxOutput = 64 << 10

// Clip shortens a tool's output to what is kept of it: its beginning and its
// end.
func Clip(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	head, tail := s[:maxOutput/2], s[len(s)-maxOutput/2:]
	for len(head) > 0 && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "\n…\n" + tail
}
