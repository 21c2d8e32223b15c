package codex

import (
	"encoding/json"

	"den/internal/agent/runner/jsonrpc"
)

// message is a notification or a request of codex, or its answer to the request
// that begins a turn.
type message struct {
	jsonrpc.Message
	about params // Params, decoded by the reader

	answers *running // the turn that it answers the request of, or nil
	err     error    // why there is no answer
}

// params has the fields of all notifications and requests that den knows.
type params struct {
	ThreadID  string          `json:"threadId"`
	TurnID    string          `json:"turnId"`
	ItemID    string          `json:"itemId"`
	Item      *item           `json:"item"`
	Turn      *turnInfo       `json:"turn"`
	Delta     string          `json:"delta"`
	Error     *turnError      `json:"error"`
	WillRetry bool            `json:"willRetry"`
	RequestID json.RawMessage `json:"requestId"` // of serverRequest/resolved
	ToModel   string          `json:"toModel"`   // of model/rerouted
	Message   string          `json:"message"`   // of warning and elicitations
	Usage     *threadUsage    `json:"tokenUsage"`
	Limits    *rateLimits     `json:"rateLimits"`

	// Of requests for approval.
	Kind        string          `json:"kind"`
	Reason      string          `json:"reason"`
	Command     string          `json:"command"`
	Dir         string          `json:"cwd"`
	GrantRoot   string          `json:"grantRoot"`
	Network     *networkContext `json:"networkApprovalContext"`
	Permissions json.RawMessage `json:"permissions"`
	ServerName  string          `json:"serverName"`
	URL         string          `json:"url"`
	Schema      struct {
		Required []string `json:"required"`
	} `json:"requestedSchema"`
	Questions []userQuestion `json:"questions"`
}

type userQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

type networkContext struct {
	Host     string `json:"host"`
	Protocol string `json:"protocol"`
}

// turnOf is the turn that a notification is about, or "".
func (p *params) turnOf() string {
	if p.Turn != nil {
		return p.Turn.ID
	}
	return p.TurnID
}

type turnInfo struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // "inProgress", "completed", "interrupted", "failed"
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object with one key
	Details string          `json:"additionalDetails"`
}

// item is a part of a turn. Which fields it has depends on its type.
type item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Text   string `json:"text"`   // of agentMessage
	Status string `json:"status"` // of what is executed

	Summary []string `json:"summary"` // of reasoning
	Content anyTexts `json:"content"` // of reasoning

	Command  string `json:"command"`
	Dir      string `json:"cwd"`
	Output   string `json:"aggregatedOutput"`
	ExitCode *int   `json:"exitCode"`

	Changes []fileChange `json:"changes"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *jsonrpc.Error  `json:"error"`

	Query  string `json:"query"`
	Prompt string `json:"prompt"`
}

type fileChange struct {
	Path string          `json:"path"`
	Kind json.RawMessage `json:"kind"`
}

// anyTexts is a list of texts. Items of other types have other things in the
// same place; they are ignored.
type anyTexts []string

func (a *anyTexts) UnmarshalJSON(data []byte) error {
	var all []string
	if json.Unmarshal(data, &all) == nil {
		*a = all
	}
	return nil
}

type threadUsage struct {
	Total tokenCount `json:"total"`
	Last  tokenCount `json:"last"`
	// Window is the size of the model's context.
	Window int64 `json:"modelContextWindow"`
}

type tokenCount struct {
	Input  int64 `json:"inputTokens"` // cached ones included
	Output int64 `json:"outputTokens"`
}

type rateLimits struct {
	Primary   *limitWindow `json:"primary"`
	Secondary *limitWindow `json:"secondary"`
}

type limitWindow struct {
	UsedPercent float64 `json:"usedPercent"`
	ResetsAt    int64   `json:"resetsAt"`
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
	Turn turnInfo `json:"turn"`
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}
