package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// record is what is read of a line of a chat file: a message, a change of the
// chat, or the removal of its end.
type record struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"` // user, gemini, info, error or warning
	At      time.Time `json:"timestamp"`
	Content content   `json:"content"`
	Shown   content   `json:"displayContent"` // as the user typed it, where that differs
	Tokens  struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
	} `json:"tokens"`
	ToolCalls []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"toolCalls"`

	Set struct {
		Messages []record `json:"messages"`
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`
}

// content is a text, a part, or a list of both.
type content string

// UnmarshalJSON joins the texts; what has none is empty.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	type part struct {
		Text string `json:"text"`
	}
	var one part
	if json.Unmarshal(data, &one) == nil {
		*c = content(one.Text)
		return nil
	}
	var all []content
	if json.Unmarshal(data, &all) == nil {
		var texts []string
		for _, c := range all {
			texts = append(texts, string(c))
		}
		*c = content(strings.Join(texts, ""))
	}
	return nil
}

func parseRecord(line []byte) (record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fault.Errorf(fault.Protocol, "read Gemini's chat: %w", err)
	}
	return r, nil
}

// chat is a conversation as its file tells it: a pure function of the lines.
type chat struct {
	messages []record // the oldest first; one that is written again stays in its place
}

// applyLine takes a line in. One that cannot be read does not hide the others.
func (c *chat) applyLine(line []byte) {
	if r, err := parseRecord(line); err == nil {
		c.apply(r)
	}
}

func (c *chat) apply(r record) {
	at := func(id string) int {
		return slices.IndexFunc(c.messages, func(o record) bool { return o.ID == id })
	}
	switch {
	case r.Set.Messages != nil:
		c.messages = r.Set.Messages
	case r.RewindTo != "":
		c.messages = c.messages[:max(0, at(r.RewindTo))]
	case r.ID == "":
	case at(r.ID) >= 0:
		c.messages[at(r.ID)] = r
	default:
		c.messages = append(c.messages, r)
	}
}

// cancelled is what Gemini notes when its user ends a turn.
const cancelled = "Request cancelled."

// replyTo reads what the agent said to a message, up to the user's next one.
// ready says that the agent does not work any more.
func (c *chat) replyTo(m conversation.Asked, ready bool) (conversation.Reply, bool) {
	at := slices.IndexFunc(c.messages, func(r record) bool {
		return r.Type == "user" && (m.Is(string(r.Content), r.At) || m.Is(string(r.Shown), r.At))
	})
	if at < 0 {
		return conversation.Reply{}, false
	}
	r := conversation.Reply{Source: RecordName, Certainty: conversation.Matched}
	for _, one := range c.messages[at+1:] {
		if one.Type == "user" && one.Content != "" { // results of tools have no text
			r.Ended = true
			return r, true
		}
		one.addTo(&r, c.messages[at].At)
	}
	r.Ended = ready && (r.Text != "" || r.Cancelled || r.Failure != "")
	return r, true
}

// addTo adds what a record tells to a reply of a turn that began at a time.
func (one record) addTo(r *conversation.Reply, begun time.Time) {
	switch {
	case one.Type == "gemini":
		if one.Content != "" {
			r.Text = string(one.Content)
		}
		r.Usage.InputTokens += one.Tokens.Input
		r.Usage.OutputTokens += one.Tokens.Output
		for _, call := range one.ToolCalls {
			r.Tools = append(r.Tools, conversation.ToolUse{Name: call.Name, Input: string(call.Args)})
		}
		r.Duration, r.Failure = one.At.Sub(begun), ""
	case one.Type == "info" && string(one.Content) == cancelled:
		r.Cancelled = true
	case one.Type == "error":
		r.Failure = string(one.Content)
	}
}
