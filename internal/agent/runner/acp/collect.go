package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"den/internal/agent/runner"
)

// maxMessage bounds what is kept of a message until it is whole.
const maxMessage = 1 << 20

// collector makes the events of one turn from the agent's updates: pieces of
// text become whole messages, and updates of a tool's use become its beginning
// and its end. It belongs to the goroutine that runs the turn.
type collector struct {
	each  func(runner.Event)
	model string

	spent    float64 // USD, by the session before the turn
	accepted bool
	pieces   pieces
	said     string // the last whole text
	tools    map[string]*toolUse
	order    []string // ids of tools, as they came
}

// pieces are what has come of a message.
type pieces struct {
	thought bool
	id      string
	text    strings.Builder
}

// toolUse is what is known of one use of a tool.
type toolUse struct {
	toolCall
	told     bool // its beginning was an event
	finished bool
	denied   bool
}

func newCollector(model string, each func(runner.Event)) *collector {
	return &collector{each: each, model: model, tools: map[string]*toolUse{}}
}

// accept tells once that the agent has the prompt.
func (c *collector) accept() {
	if !c.accepted {
		c.accepted = true
		c.each(runner.Event{Kind: runner.Accepted})
	}
}

// isSilent reports whether the agent said and did nothing.
func (c *collector) isSilent() bool { return c.said == "" && len(c.order) == 0 }

// update takes one update. It returns false for one of an unknown type.
func (c *collector) update(u update) bool {
	switch u.Type {
	case "agent_message_chunk":
		c.piece(false, u)
	case "agent_thought_chunk":
		c.piece(true, u)
	case "tool_call":
		c.accept()
		c.endMessage()
		c.tool(u.toolCall, u.Status != "" && u.Status != "pending")
	case "tool_call_update":
		c.accept()
		c.tool(u.toolCall, u.Status != "" && u.Status != "pending" || hasMembers(u.RawInput))
	case "plan":
		c.accept()
		c.each(runner.Event{Kind: runner.Noted, Text: planText(u)})
	case "usage_update":
		if u.Used > 0 || u.Size > 0 {
			c.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: u.Used, Window: u.Size}})
		}
		if usd, ok := u.cost(); ok && usd > c.spent {
			c.each(runner.Event{Kind: runner.Used, Usage: &runner.Usage{CostUSD: usd - c.spent}})
		}
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update":
		// Nothing of these is an event of a turn.
	default:
		return false
	}
	return true
}

// piece adds a piece of a message. A message ends where one with another id,
// or a thought, or a tool begins.
func (c *collector) piece(thought bool, u update) {
	c.accept()
	text := blockText(u.Content)
	if text == "" {
		return
	}
	p := &c.pieces
	if p.text.Len() > 0 && (p.thought != thought || p.id != u.MessageID || p.text.Len() > maxMessage) {
		c.endMessage()
	}
	if p.text.Len() == 0 {
		c.tellTools()
	}
	p.thought, p.id = thought, u.MessageID
	p.text.WriteString(text)
	if !thought {
		c.each(runner.Event{Kind: runner.Partial, Text: text})
	}
}

// endMessage tells the message whose pieces have come.
func (c *collector) endMessage() {
	text := c.pieces.text.String()
	c.pieces.text.Reset()
	switch {
	case text == "":
	case c.pieces.thought:
		c.each(runner.Event{Kind: runner.Spoke, Message: runner.Think(c.model, text)})
	default:
		c.said = text
		c.each(runner.Event{Kind: runner.Spoke, Message: runner.Say(c.model, text)})
	}
}

// tool takes news of a tool's use. Agents announce a tool before they know its
// input: its beginning is told when that is known, or the tool runs.
func (c *collector) tool(news toolCall, begun bool) *toolUse {
	t := c.tools[news.ID]
	if t == nil {
		t = &toolUse{}
		c.tools[news.ID] = t
		c.order = append(c.order, news.ID)
	}
	if t.finished {
		return t
	}
	t.merge(news)
	if begun {
		c.tellTool(t)
	}
	if t.Status == "completed" || t.Status == "failed" {
		c.finish(t)
	}
	return t
}

// question takes what a request for permission tells of a tool's use, and
// returns the request's own view of it, completed by what is known.
func (c *collector) question(asked toolCall) (*toolUse, toolCall) {
	known := c.tools[asked.ID]
	if known == nil {
		// Some agents announce no tool before they ask. What they show with
		// the question is not what the tool made.
		news := asked
		news.Content = nil
		known = c.tool(news, false)
	}
	if !known.told && !hasContent(known.RawInput) {
		known.RawInput = asked.RawInput
	}
	c.tellTool(known)
	whole := toolUse{toolCall: known.toolCall}
	whole.merge(asked)
	if asked.Locations != nil {
		whole.Locations = asked.Locations
	}
	return known, whole.toolCall
}

func (t *toolUse) merge(news toolCall) {
	t.ID = news.ID
	for _, field := range []struct{ old, new *string }{
		{&t.Name, &news.Name}, {&t.Title, &news.Title}, {&t.Kind, &news.Kind}, {&t.Status, &news.Status}, {&t.Meta.ToolName, &news.Meta.ToolName},
	} {
		if *field.new != "" {
			*field.old = *field.new
		}
	}
	if len(news.Locations) > 0 {
		t.Locations = news.Locations
	}
	for _, field := range []struct{ old, new *json.RawMessage }{
		{&t.RawInput, &news.RawInput}, {&t.RawOutput, &news.RawOutput}, {&t.Content, &news.Content},
	} {
		if hasContent(*field.new) {
			*field.old = *field.new
		}
	}
}

// tellTools tells the beginnings that wait for more to be known.
func (c *collector) tellTools() {
	for _, id := range c.order {
		c.tellTool(c.tools[id])
	}
}

func (c *collector) tellTool(t *toolUse) {
	if t.told {
		return
	}
	t.told = true
	c.endMessage()
	c.each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool(c.model, t.ID, t.tool(), t.input())})
}

// tool is the tool's name as far as the agent tells it; most tell what kind it
// is and a title made for people.
func (t *toolCall) tool() string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Meta.ToolName != "":
		return t.Meta.ToolName
	case t.Kind != "" && t.Kind != "other":
		return t.Kind
	case t.Title != "":
		return t.Title
	}
	return "other"
}

// input is the tool's input; the title where the agent keeps it to itself.
func (t *toolCall) input() json.RawMessage {
	if hasContent(t.RawInput) {
		return t.RawInput
	}
	text, err := json.Marshal(map[string]string{"title": t.Title})
	if err != nil {
		return nil
	}
	return text
}

func (c *collector) finish(t *toolUse) {
	c.tellTool(t)
	t.finished = true
	c.each(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{
		ID: t.ID, Failed: t.Status != "completed", Denied: t.denied && t.Status != "completed", Output: runner.Clip(t.output()),
	}})
	t.RawInput, t.RawOutput, t.Content = nil, nil, nil
}

// end tells what is still open when the turn is over.
func (c *collector) end() {
	c.endMessage()
	for _, id := range c.order {
		if t := c.tools[id]; !t.finished {
			t.Status = "failed"
			c.finish(t)
		}
	}
}

// output is what the tool made, as text.
func (t *toolCall) output() string {
	var parts []content
	_ = json.Unmarshal(t.Content, &parts) // Best effort: what cannot be read is told raw below.
	var lines []string
	for _, p := range parts {
		switch p.Type {
		case "content":
			lines = append(lines, blockText(p.Content))
		case "diff":
			lines = append(lines, "changed "+p.Path)
		}
	}
	if text := strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"); text != "" {
		return text
	}
	var text string
	if json.Unmarshal(t.RawOutput, &text) == nil {
		return text
	}
	return string(t.RawOutput)
}

// blockText is the text of a content block; other blocks are named.
func blockText(raw json.RawMessage) string {
	var block content
	if decode(raw, &block) != nil {
		return ""
	}
	switch block.Type {
	case "text":
		return block.Text
	case "":
		return ""
	}
	return "[" + block.Type + "]"
}

func planText(u update) string {
	var steps []string
	for _, e := range u.Entries {
		steps = append(steps, "["+e.Status+"] "+e.Content)
	}
	return "plan: " + strings.Join(steps, "; ")
}

// hasContent tells whether a member was sent with a value that says something.
func hasContent(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "{}", "[]", `""`:
		return false
	}
	return true
}

// hasMembers tells whether raw is an object that is not empty.
func hasMembers(raw json.RawMessage) bool {
	return len(raw) > 0 && raw[0] == '{' && hasContent(raw)
}
