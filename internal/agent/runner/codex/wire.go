package codex

import (
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
)

// message is a notification or a request of codex, or its answer to the request
// that begins a turn.
type message struct {
	jsonrpc.Message
	about wire.Params // Params, decoded by the reader

	answers *running // the turn that it answers the request of, or nil
	err     error    // why there is no answer
}

// turnOf is the turn that the message is about, or "".
func (m *message) turnOf() string {
	if m.about.Turn != nil {
		return m.about.Turn.ID
	}
	return m.about.TurnID
}

// What den sends.

type initializeParams struct {
	ClientInfo clientInfo `json:"clientInfo"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type threadParams struct {
	ThreadID     string `json:"threadId,omitempty"` // to resume
	Dir          string `json:"cwd,omitempty"`
	Model        string `json:"model,omitempty"`
	Approval     string `json:"approvalPolicy"`
	Sandbox      string `json:"sandbox"`
	Instructions string `json:"developerInstructions,omitempty"`
	Base         string `json:"baseInstructions,omitempty"` // replaces codex' own
	ExcludeTurns bool   `json:"excludeTurns,omitempty"`
	// Config is on top of the user's configuration file.
	Config map[string]any `json:"config,omitempty"`
}

type threadResult struct {
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
	Model string `json:"model"`
}

type threadRef struct {
	ThreadID string `json:"threadId"`
}

type turnParams struct {
	ThreadID string      `json:"threadId"`
	Input    []textInput `json:"input"`
	Effort   string      `json:"effort,omitempty"`
}

type textInput struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"`
}

type turnResult struct {
	Turn wire.Turn `json:"turn"`
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}
