// Package wire has the messages of codex' app-server that den reads: as a driver,
// and as the source of an agent on a screen.
package wire

import (
	"encoding/json"

	"den/internal/agent/runner/jsonrpc"
)

// The requests of codex that den answers.
const (
	ApproveCommand     = "item/commandExecution/requestApproval"
	ApproveFiles       = "item/fileChange/requestApproval"
	ApprovePermissions = "item/permissions/requestApproval"
	Elicit             = "mcpServer/elicitation/request"
	AskUser            = "item/tool/requestUserInput"
)

// Params has the fields of the notifications and requests that are about turns.
type Params struct {
	ThreadID  string          `json:"threadId"`
	TurnID    string          `json:"turnId"`
	ItemID    string          `json:"itemId"`
	Item      *Item           `json:"item"`
	Turn      *Turn           `json:"turn"`
	Delta     string          `json:"delta"`
	Error     *TurnError      `json:"error"`
	WillRetry bool            `json:"willRetry"`
	RequestID json.RawMessage `json:"requestId"` // of serverRequest/resolved
	ToModel   string          `json:"toModel"`   // of model/rerouted
	Message   string          `json:"message"`   // of warning and elicitations
	Usage     *Usage          `json:"tokenUsage"`
	Limits    *RateLimits     `json:"rateLimits"`

	// Of requests for approval.
	Reason      string          `json:"reason"`
	Command     string          `json:"command"`
	Dir         string          `json:"cwd"`
	GrantRoot   string          `json:"grantRoot"`
	Network     *Network        `json:"networkApprovalContext"`
	Permissions json.RawMessage `json:"permissions"`
	ServerName  string          `json:"serverName"`
	URL         string          `json:"url"`
	Schema      struct {
		Required []string `json:"required"`
	} `json:"requestedSchema"`
	Questions []Question `json:"questions"`
}

// Question is one of a request for the user's input.
type Question struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

// Network is where a command wants to connect to.
type Network struct {
	Host     string `json:"host"`
	Protocol string `json:"protocol"`
}

// Turn is how far a turn has come.
type Turn struct {
	ID         string     `json:"id"`
	Status     string     `json:"status"` // "inProgress", "completed", "interrupted", "failed"
	DurationMs int64      `json:"durationMs"`
	Error      *TurnError `json:"error"`
}

// TurnError is why a turn failed, or a try of it.
type TurnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object with one key
	Details string          `json:"additionalDetails"`
}

// Item is a part of a turn. Which fields it has depends on its type.
type Item struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	ClientID string `json:"clientId"` // of userMessage: who sent it chose it
	Text     string `json:"text"`     // of agentMessage
	Status   string `json:"status"`   // of what is executed

	Summary []string `json:"summary"` // of reasoning
	Content texts    `json:"content"` // of reasoning and userMessage

	StartedMs int64 `json:"startedAtMs"`

	Command  string `json:"command"`
	Dir      string `json:"cwd"`
	Output   string `json:"aggregatedOutput"`
	ExitCode *int   `json:"exitCode"`

	Changes json.RawMessage `json:"changes"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *jsonrpc.Error  `json:"error"`

	Query  string `json:"query"`
	Prompt string `json:"prompt"`
}

// UnmarshalJSON leaves out what is of another JSON type than expected: one item
// that is not understood must not hide the others.
func (it *Item) UnmarshalJSON(data []byte) error {
	type plain Item
	_ = json.Unmarshal(data, (*plain)(it)) // Best effort: see above.
	return nil
}

// ToolName names the tool that the item is a use of, or "".
func (it *Item) ToolName() string {
	switch it.Type {
	case "commandExecution":
		return "shell"
	case "fileChange":
		return "apply_patch"
	case "mcpToolCall":
		return "mcp__" + it.Server + "__" + it.Tool
	case "dynamicToolCall", "collabAgentToolCall":
		return it.Tool
	case "webSearch":
		return "web_search"
	}
	return ""
}

// texts is a list of texts, as they are or each in an object. Items of other
// types have other things in the same place; they are ignored.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]string)(t)) == nil {
		return nil
	}
	*t = nil
	var all []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &all) == nil {
		for _, one := range all {
			*t = append(*t, one.Text)
		}
	}
	return nil
}

// Usage is what the model's answers in a thread used.
type Usage struct {
	Total Tokens `json:"total"`
	Last  Tokens `json:"last"`
	// Window is the size of the model's context.
	Window int64 `json:"modelContextWindow"`
}

// Tokens counts them.
type Tokens struct {
	Input  int64 `json:"inputTokens"` // cached ones included
	Output int64 `json:"outputTokens"`
}

// RateLimits are those of the user's plan.
type RateLimits struct {
	Primary   *Limit `json:"primary"`
	Secondary *Limit `json:"secondary"`
}

// Limit is how much of one is used.
type Limit struct {
	UsedPercent float64 `json:"usedPercent"`
	ResetsAt    int64   `json:"resetsAt"`
}
