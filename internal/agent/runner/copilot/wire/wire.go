// Package wire has the events of Copilot's sessions that den reads: as a driver, and
// in the files of an agent on a screen.
package wire

import (
	"encoding/json"
	"errors"
	"strings"
)

// Event is something that happened in a session. Its type says which members
// of its data are set.
type Event struct {
	Type    string `json:"type"`
	AgentID string `json:"agentId"` // of an agent below the session's own
	At      string `json:"timestamp"`
	Data    struct {
		Message      string `json:"message"` // of errors and notes
		Content      string `json:"content"` // of a message or a thought
		DeltaContent string `json:"deltaContent"`
		MessageID    string `json:"messageId"`
		AnswersID    string `json:"originatingMessageId"`
		Model        string `json:"model"`
		ToolRequests []struct {
			ToolCallID string          `json:"toolCallId"`
			Name       string          `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
		} `json:"toolRequests"`

		ToolCallID string          `json:"toolCallId"`
		ToolName   string          `json:"toolName"`
		Arguments  json.RawMessage `json:"arguments"`
		Success    bool            `json:"success"`
		Result     struct {
			Content string `json:"content"`
			Kind    string `json:"kind"` // of permission.completed
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
			Code    string `json:"code"`
		} `json:"error"`

		Tokens
		Usage struct {
			Tokens
			Cost float64 `json:"cost"`
		} `json:"usage"` // of session.usage_record

		TokenLimit    int64 `json:"tokenLimit"`    // of session.usage_info
		CurrentTokens int64 `json:"currentTokens"` // of session.usage_info

		ErrorType  string `json:"errorType"`
		StatusCode int    `json:"statusCode"`
		Reason     string `json:"reason"` // of a retry
		Aborted    bool   `json:"aborted"`

		RequestID         string            `json:"requestId"`
		PermissionRequest PermissionRequest `json:"permissionRequest"`
	} `json:"data"`
}

// Parse reads a line of a session's events.jsonl. Members of another JSON type
// than expected are left out.
func Parse(line []byte) (e Event, err error) {
	err = json.Unmarshal(line, &e)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		err = nil
	}
	return e, err
}

// Tokens counts those of one call of the model.
type Tokens struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
}

// PermissionRequest is what the agent wants to do. Its kind says which members
// are set.
type PermissionRequest struct {
	Kind            string   `json:"kind"`
	ToolCallID      string   `json:"toolCallId"`
	FullCommandText string   `json:"fullCommandText"`
	PossiblePaths   []string `json:"possiblePaths"`
	Intention       string   `json:"intention"`
	FileName        string   `json:"fileName"`
	Path            string   `json:"path"`
	URL             string   `json:"url"`
	ServerName      string   `json:"serverName"`
	ToolName        string   `json:"toolName"`

	Raw json.RawMessage `json:"-"` // the request as it is
}

// UnmarshalJSON also keeps the request as it is.
func (p *PermissionRequest) UnmarshalJSON(data []byte) error {
	type plain PermissionRequest
	_ = json.Unmarshal(data, (*plain)(p)) // Best effort: a policy asks for what it does not know.
	p.Raw = json.RawMessage(strings.Clone(string(data)))
	return nil
}
