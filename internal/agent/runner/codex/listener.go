package codex

import (
	"encoding/json"
	"strings"

	"den/internal/agent/runner"
	"den/internal/agent/runner/codex/wire"
)

// listener turns the notifications of one turn into events.
type listener struct {
	session  *session
	each     func(runner.Event)
	accepted bool
	last     string          // the last message of the agent
	used     map[string]bool // ids of tool uses that were told
	usage    runner.Usage
	total    wire.Tokens // of the thread, as it was told last
}

func (l *listener) take(m *message) {
	p := &m.about
	switch m.Method {
	case "item/started":
		if p.Item != nil {
			l.started(p.Item)
		}
	case "item/completed":
		if p.Item != nil {
			l.completed(p.Item)
		}
	case "item/agentMessage/delta":
		l.each(runner.Event{Kind: runner.Partial, Text: p.Delta})
	case "thread/tokenUsage/updated":
		l.count(p.Usage)
	case "error":
		if p.WillRetry && p.Error != nil {
			l.each(runner.Event{Kind: runner.Retrying, Failure: l.session.failureOf(p.Error)})
		}
	case "model/rerouted":
		l.each(runner.Event{Kind: runner.Noted, Text: "codex goes on with the model " + p.ToModel})
	case "warning":
		l.each(runner.Event{Kind: runner.Noted, Text: p.Message})
	}
}

func (l *listener) accept() {
	if !l.accepted {
		l.accepted = true
		l.each(runner.Event{Kind: runner.Accepted})
	}
}

// count adds up what each answer of the model used.
func (l *listener) count(u *wire.Usage) {
	if u == nil || u.Total == l.total {
		return // told again
	}
	l.total = u.Total
	l.usage.InputTokens += u.Last.Input
	l.usage.OutputTokens += u.Last.Output
	usage := l.usage
	l.each(runner.Event{Kind: runner.Used, Usage: &usage})
	l.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: u.Last.Input + u.Last.Output, Window: u.Window}})
}

func (l *listener) started(it *wire.Item) {
	switch it.Type {
	case "userMessage":
		l.accept()
		return
	case "contextCompaction":
		l.each(runner.Event{Kind: runner.Compacting})
		return
	}
	l.use(it)
}

// use tells the use of a tool, once.
func (l *listener) use(it *wire.Item) {
	name := it.ToolName()
	if name == "" || l.used[it.ID] {
		return
	}
	l.used[it.ID] = true
	raw, err := json.Marshal(inputOf(it))
	if err != nil {
		raw = nil // arguments that are no JSON: UseTool makes an object
	}
	l.each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool(l.session.model, it.ID, name, raw)})
}

// inputOf is what a tool was given.
func inputOf(it *wire.Item) any {
	switch it.Type {
	case "commandExecution":
		return map[string]string{"command": innerCommand(it.Command), "cwd": it.Dir}
	case "fileChange":
		return map[string]any{"changes": changesOf(it)}
	case "collabAgentToolCall":
		return map[string]string{"prompt": it.Prompt}
	case "webSearch":
		return map[string]string{"query": it.Query}
	}
	return it.Arguments
}

type fileChange struct {
	Path string          `json:"path"`
	Kind json.RawMessage `json:"kind"`
}

func changesOf(it *wire.Item) (all []fileChange) {
	_ = json.Unmarshal(it.Changes, &all) // Best effort: without them, nobody knows which files.
	return all
}

func pathsOf(it *wire.Item) []string {
	var all []string
	for _, c := range changesOf(it) {
		all = append(all, c.Path)
	}
	return all
}

func (l *listener) completed(it *wire.Item) {
	switch it.Type {
	case "agentMessage":
		if it.Text != "" {
			l.last = it.Text
			l.each(runner.Event{Kind: runner.Spoke, Message: runner.Say(l.session.model, it.Text)})
		}
		return
	case "reasoning":
		if text := strings.Join(append(it.Summary, it.Content...), "\n"); text != "" {
			l.each(runner.Event{Kind: runner.Spoke, Message: runner.Think(l.session.model, text)})
		}
		return
	case "contextCompaction":
		l.each(runner.Event{Kind: runner.Noted, Text: "the conversation was compacted"})
		return
	}
	if it.ToolName() == "" {
		return
	}
	l.use(it) // some items are told only when they are completed
	l.each(runner.Event{Kind: runner.ToolFinished, Result: doneOf(it)})
}

func doneOf(it *wire.Item) *runner.ToolDone {
	done := &runner.ToolDone{ID: it.ID, Output: runner.Clip(it.Output), Denied: it.Status == "declined"}
	done.Failed = done.Denied || it.Status == "failed" || it.ExitCode != nil && *it.ExitCode != 0
	if done.Output == "" && it.Error != nil {
		done.Output = it.Error.Message
	}
	if done.Output == "" && len(it.Result) > 0 && string(it.Result) != "null" {
		done.Output = runner.Clip(string(it.Result))
	}
	return done
}

// end makes the turn's result of codex's.
func (l *listener) end(t *wire.Turn) (runner.Result, error) {
	l.accept()
	result := runner.Result{Text: l.last, Usage: l.usage}
	switch t.Status {
	case "completed":
		return result, nil
	case "interrupted":
		result.Cancelled = true
		return result, nil
	}
	e := t.Error
	if e == nil {
		e = &wire.TurnError{Message: "the turn ended as " + t.Status}
	}
	return runner.Result{Usage: l.usage}, l.session.failureOf(e)
}
