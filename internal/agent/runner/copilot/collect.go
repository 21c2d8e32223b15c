package copilot

import (
	"encoding/json"
	"slices"
	"strings"

	"den/internal/agent/runner"
)

// collector makes the runner's events of one turn from the agent's. It belongs
// to the goroutine that runs the turn.
type collector struct {
	each func(runner.Event)
	skip func(kind string) // takes the types of events that are not known

	model    string
	accepted bool
	aborted  bool
	said     string // the last whole text
	usage    runner.Usage
	failure  *runner.Failure // or nil
	retried  *runner.Failure // why the agent tried again last, or nil
	tools    map[string]*toolUse
	order    []string // ids of tools, as they came
}

// toolUse is one use of a tool.
type toolUse struct {
	id, name string
	finished bool
	denied   bool
}

// take takes one event and reports whether the turn is over. Of agents below
// the session's own only the questions and the usage count: what they do is the
// use of one tool.
func (c *collector) take(e event) bool {
	if e.AgentID != "" && e.Type != "assistant.usage" {
		return false
	}
	switch e.Type {
	case "user.message":
		c.accept()
	case "assistant.message_delta":
		if e.Data.DeltaContent != "" {
			c.each(runner.Event{Kind: runner.Partial, Text: e.Data.DeltaContent})
		}
	case "assistant.reasoning":
		if e.Data.Content != "" {
			c.each(runner.Event{Kind: runner.Spoke, Message: runner.Think(c.model, e.Data.Content)})
		}
	case "assistant.message":
		c.message(e)
	case "tool.execution_start":
		c.use(e.Data.ToolCallID, e.Data.ToolName, e.Data.Arguments)
	case "permission.completed":
		if t := c.tools[e.Data.ToolCallID]; t != nil {
			t.denied = e.Data.Result.Kind != "approved"
		}
	case "tool.execution_complete":
		c.toolEnded(e)
	case "assistant.usage":
		c.usage.InputTokens += e.Data.InputTokens
		c.usage.OutputTokens += e.Data.OutputTokens
		usage := c.usage
		c.each(runner.Event{Kind: runner.Used, Usage: &usage})
	default:
		return c.takeState(e)
	}
	return false
}

// takeState takes the events that are about the session, not its words.
func (c *collector) takeState(e event) bool {
	switch e.Type {
	case "assistant.turn_retry":
		c.retried = e.retry()
		c.each(runner.Event{Kind: runner.Retrying, Failure: c.retried})
	case "session.error":
		c.failure = e.failure()
		if c.failure.Class == runner.Bug && c.retried != nil {
			c.failure.Class = c.retried.Class // it gave up: the error has no other field for why
		}
	case "session.warning", "session.info":
		if e.Data.Message != "" {
			c.each(runner.Event{Kind: runner.Noted, Text: e.Data.Message})
		}
	case "session.usage_info":
		c.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: e.Data.CurrentTokens, Window: e.Data.TokenLimit}})
	case "session.compaction_start":
		c.each(runner.Event{Kind: runner.Compacting})
		c.each(runner.Event{Kind: runner.Noted, Text: "the agent shortens its conversation"})
	case "session.idle":
		c.aborted = e.Data.Aborted
		// One that comes before the prompt was taken is of an earlier turn.
		return c.accepted || c.failure != nil || c.aborted
	default:
		if !isQuiet(e.Type) {
			c.skip(e.Type)
		}
	}
	return false
}

// quiet begins the types of events of which nothing is told: the agent's own
// affairs, and what other events tell, too.
var quiet = []string{"model.", "session.", "assistant.", "tool.", "permission.", "pending_messages.", "system.", "subagent.", "agent.", "abort", "sandbox.", "hook.", "skill."}

func isQuiet(kind string) bool {
	return slices.ContainsFunc(quiet, func(begin string) bool { return strings.HasPrefix(kind, begin) })
}

func (c *collector) accept() {
	if !c.accepted {
		c.accepted = true
		c.each(runner.Event{Kind: runner.Accepted})
	}
}

func (c *collector) message(e event) {
	if e.Data.Model != "" {
		c.model = e.Data.Model
	}
	if e.Data.Content != "" {
		c.said = e.Data.Content
		c.each(runner.Event{Kind: runner.Spoke, Message: runner.Say(c.model, e.Data.Content)})
	}
	for _, r := range e.Data.ToolRequests {
		c.use(r.ToolCallID, r.Name, r.Arguments)
	}
}

// use tells the beginning of a tool's use, once.
func (c *collector) use(id, name string, input json.RawMessage) {
	if c.tools[id] != nil {
		return
	}
	c.tools[id] = &toolUse{id: id, name: name}
	c.order = append(c.order, id)
	c.each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool(c.model, id, name, input)})
}

func (c *collector) nameOf(id string) string {
	if t := c.tools[id]; t != nil {
		return t.name
	}
	return ""
}

func (c *collector) toolEnded(e event) {
	c.use(e.Data.ToolCallID, e.Data.ToolName, e.Data.Arguments)
	t := c.tools[e.Data.ToolCallID]
	if t.finished {
		return
	}
	output := e.Data.Result.Content
	if !e.Data.Success {
		output = e.Data.Error.Message
		t.denied = t.denied || slices.Contains([]string{"denied", "rejected"}, e.Data.Error.Code)
	}
	c.finish(t, !e.Data.Success, output)
}

func (c *collector) finish(t *toolUse, failed bool, output string) {
	t.finished = true
	c.each(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{
		ID: t.id, Failed: failed, Denied: failed && t.denied, Output: runner.Clip(output),
	}})
}

// end ends the tools that a turn left open.
func (c *collector) end() {
	for _, id := range c.order {
		if t := c.tools[id]; !t.finished {
			c.finish(t, true, "")
		}
	}
}
