package claude

import (
	"slices"
	"strings"
	"time"

	"den/internal/agent/runner"
)

// listener turns the messages of one turn into events.
type listener struct {
	session  *session
	prompt   string // its id
	each     func(runner.Event)
	accepted bool
	last     string        // the last text of the agent
	model    string        // that answered last
	apiError *message      // the message that stands for an API error, or nil
	retry    time.Duration // how long the vendor said to wait, or 0
	used     runner.Usage  // tokens of the messages that are complete
}

// longestOwnPause is the longest pause that the agent makes of its own accord
// before it tries again. A longer one is what the vendor asked for.
const longestOwnPause = 40 * time.Second

func (l *listener) take(m *message) {
	switch m.Type {
	case "command_lifecycle":
		if m.CommandID == l.prompt {
			l.accept()
		}
	case "user":
		l.user(m)
	case "assistant":
		l.assistant(m)
	case "stream_event":
		if m.Event != nil {
			l.stream(m)
		}
	case "system":
		l.system(m)
	case "control_request":
		l.each(runner.Event{Kind: runner.Compacting})
	case "rate_limit_event":
		if m.RateLimit != nil && m.RateLimit.Status == "rejected" && m.RateLimit.ResetsAt > 0 {
			l.retry = max(0, time.Until(time.Unix(m.RateLimit.ResetsAt, 0)))
		}
	}
}

// stream handles a piece of a message, of the agent or of a subagent. Its tokens
// are told when it is complete: the turn's result, which tells all with their
// cost, does not come if the turn is cut off.
func (l *listener) stream(m *message) {
	e := m.Event
	switch {
	case e.Type == "message_delta" && e.Usage != nil:
		l.used.InputTokens += e.Usage.Input + e.Usage.CacheReads + e.Usage.CacheWrites
		l.used.OutputTokens += e.Usage.Output
		used := l.used
		l.each(runner.Event{Kind: runner.Used, Usage: &used})
	case m.ParentToolUseID == "" && e.Delta.Type == "text_delta":
		l.each(runner.Event{Kind: runner.Partial, Text: e.Delta.Text})
	}
}

func (l *listener) accept() {
	if !l.accepted {
		l.accepted = true
		l.each(runner.Event{Kind: runner.Accepted})
	}
}

// user handles the echo of the prompt, and results of tools.
func (l *listener) user(m *message) {
	if m.Replay {
		if m.UUID == l.prompt {
			l.accept()
		}
		return
	}
	if m.Message == nil {
		return
	}
	for _, b := range m.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		done := &runner.ToolDone{ID: b.ToolUseID, Failed: b.IsError, Output: runner.Clip(textOf(b.Content))}
		done.Denied = slices.ContainsFunc(m.Meta, func(r resultMeta) bool { return r.ID == b.ToolUseID && r.denied() })
		l.each(runner.Event{Kind: runner.ToolFinished, Result: done})
	}
}

func textOf(content contentList) string {
	var all []string
	for _, b := range content {
		if b.Text != "" {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, "\n")
}

// assistant handles what the agent says. Of a subagent only the tools that it
// uses are told: its words are for the agent.
func (l *listener) assistant(m *message) {
	if m.IsAPIError || m.errorWord() != "" {
		l.apiError = m
		return
	}
	if m.Message == nil {
		return
	}
	l.sized(m)
	said := &runner.Message{Type: "assistant", Model: m.Message.Model}
	for _, b := range m.Message.Content {
		switch {
		case b.Type == "tool_use":
			said.Content = append(said.Content, runner.UseTool("", b.ID, b.Name, b.Input).Content...)
		case m.ParentToolUseID != "":
		case b.Type == "text" && b.Text != "":
			said.Content = append(said.Content, runner.Block{Type: runner.BlockText, Text: b.Text})
			l.last = b.Text
		case b.Type == "thinking" && b.Thinking != "":
			said.Content = append(said.Content, runner.Block{Type: runner.BlockThinking, Thinking: b.Thinking})
		}
	}
	if len(said.Content) == 0 {
		return
	}
	e := runner.Event{Kind: runner.Spoke, Message: said}
	if m.ParentToolUseID == "" {
		e.Reply = m.Message.ID
	}
	l.each(e)
}

// sized tells how large the agent's context is. That of a subagent is its own.
func (l *listener) sized(m *message) {
	if m.ParentToolUseID != "" || m.Message.Usage == nil || m.Message.Usage.context() == 0 {
		return
	}
	l.model = m.Message.Model
	l.session.mu.Lock()
	window := l.session.window
	l.session.mu.Unlock()
	l.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: m.Message.Usage.context(), Window: window}})
}

// learnWindow keeps the size of the model's context, which comes with the
// turn's end.
func (l *listener) learnWindow(m *message) {
	window := m.ModelUsage[l.model].Window
	if window <= 0 {
		return
	}
	l.session.mu.Lock()
	l.session.window = window
	l.session.mu.Unlock()
	l.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Window: window}})
}

func (l *listener) system(m *message) {
	switch m.Subtype {
	case "api_retry":
		pause := time.Duration(m.RetryDelayMS) * time.Millisecond
		if pause > longestOwnPause {
			l.retry = pause
		}
		l.each(runner.Event{Kind: runner.Retrying, Failure: &runner.Failure{
			Class: classOf(m.ErrorStatus, m.errorWord()), Message: m.errorWord(), RetryAfter: pause,
		}})
	case "status":
		if string(m.Status) == `"compacting"` {
			l.each(runner.Event{Kind: runner.Compacting})
		}
	case "compact_boundary":
		l.each(runner.Event{Kind: runner.Noted, Text: "the conversation was compacted"})
	}
}

// end makes the turn's result of the agent's.
func (l *listener) end(m *message) (runner.Result, error) {
	l.accept()
	l.learnWindow(m)
	result := runner.Result{Text: m.Result, Usage: l.session.turnUsage(m)}
	if result.Usage != (runner.Usage{}) {
		l.each(runner.Event{Kind: runner.Used, Usage: &result.Usage})
	}
	if result.Text == "" {
		result.Text = l.last
	}
	if strings.HasPrefix(m.TerminalReason, "aborted") {
		result.Cancelled = true
		return result, nil
	}
	if !m.IsError {
		return result, nil
	}
	failure := failureOf(m, l.apiError)
	if failure.Class == runner.Quota || failure.Class == runner.Overload {
		failure.RetryAfter = l.retry
	}
	return runner.Result{Usage: result.Usage}, failure
}

// turnUsage is what the turn used, of all models. An agent that does not tell
// it tells the cost of the whole session, of which the turn's is the growth.
func (s *session) turnUsage(m *message) runner.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.failed = false, m.IsError
	growth := 0.0
	if s.costKnown || !s.resumed {
		growth = max(0, m.TotalCost-s.lastCost)
	}
	s.lastCost, s.costKnown = m.TotalCost, true
	var u runner.Usage
	if m.TurnUsage != nil {
		for _, of := range m.TurnUsage {
			u.InputTokens += of.Input + of.CacheReads + of.CacheWrites
			u.OutputTokens += of.Output
			u.CostUSD += of.Cost
		}
		return u
	}
	if m.Usage != nil {
		u.InputTokens = m.Usage.Input + m.Usage.CacheReads + m.Usage.CacheWrites
		u.OutputTokens = m.Usage.Output
	}
	u.CostUSD = growth
	return u
}
