package copilot

import (
	"cmp"
	"encoding/json"
	"slices"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/copilot/wire"
	"den/internal/base/fault"
)

// model is what a session's events tell: a pure function of them.
type model struct {
	begun bool                    // it has had a message: no dialog of its start is open
	open  []conversation.Question // in the order in which they were asked
	// calling says that a call of the model has begun and has not ended, with
	// its tools and what they ask: the state file may be late by many seconds.
	calling bool
	// failed is the last error since the last message, "" where the model spoke
	// after it: it was tried again.
	failed string
}

// askTool is the tool by which the model asks its user.
const askTool = "ask_user"

func (m *model) apply(e wire.Event) {
	switch e.Type {
	case "user.message":
		m.begun, m.failed = true, ""
	case "assistant.turn_start":
		m.calling = true
	case "assistant.turn_end", "session.start", "session.resume":
		m.calling = false
	case "assistant.message":
		m.failed = ""
	case "session.error":
		m.failed = cmp.Or(e.Data.Message, "its turn ended in an error")
	case "permission.requested":
		p := e.Data.PermissionRequest
		m.ask(conversation.Question{ID: e.Data.RequestID, Kind: conversation.Permission, Text: cmp.Or(p.FullCommandText, p.Kind+" "+p.Intention)})
	case "permission.completed":
		m.close(e.Data.RequestID)
	case "tool.execution_start":
		if e.Data.ToolName == askTool {
			m.ask(conversation.Question{ID: e.Data.ToolCallID, Kind: conversation.Choice, Text: askedText(e.Data.Arguments)})
		}
	case "tool.execution_complete":
		m.close(e.Data.ToolCallID)
	case "abort", "session.shutdown":
		m.open, m.failed, m.calling = nil, "", false
	}
}

// askedText is what the tool asks, in either of the forms that it takes.
func askedText(arguments json.RawMessage) string {
	var a struct {
		Question string `json:"question"`
		Message  string `json:"message"`
	}
	if json.Unmarshal(arguments, &a) != nil || a.Question+a.Message == "" {
		return "it asks its user"
	}
	return a.Question + a.Message
}

func (m *model) ask(q conversation.Question) {
	m.close(q.ID)
	m.open = append(m.open, q)
}

func (m *model) close(id string) {
	m.open = slices.DeleteFunc(m.open, func(q conversation.Question) bool { return q.ID == id })
}

// state joins the events with what the state file says. Before its first
// message a session may stand behind a dialog of the start, which only the
// screen shows.
func (m *model) state(working bool) conversation.State {
	s := conversation.State{Activity: conversation.Ready, Source: Name}
	working = working || m.calling
	switch {
	case working && len(m.open) > 0:
		q := m.open[0]
		s.Activity, s.Question = conversation.Asking, &q
	case working:
		s.Activity = conversation.Busy
	case !m.begun:
		s.Activity, s.Why = conversation.Unknown, "it has had no message yet"
	case m.failed != "":
		s.Activity, s.Why = conversation.TurnFailed, m.failed
	}
	return s
}

// workingOf reads open-sessions-state.json. A session that is not in it is not
// open.
func workingOf(data []byte, session string) (working, open bool, err error) {
	var sessions map[string]struct {
		Working bool `json:"working"`
	}
	if err := json.Unmarshal(data, &sessions); err != nil {
		return false, false, fault.Errorf(fault.Protocol, "read Copilot's state: %w", err)
	}
	s, open := sessions[session]
	return s.Working, open, nil
}
