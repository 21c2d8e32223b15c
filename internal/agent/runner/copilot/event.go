package copilot

import (
	"encoding/json"
	"net/http"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// event is something that happened in a session. Its type says which members
// of its data are set; one of another JSON type than expected is left out.
type event struct {
	Type    string `json:"type"`
	AgentID string `json:"agentId"` // of an agent below the session's own
	Data    struct {
		Message      string `json:"message"` // of errors and notes
		Content      string `json:"content"` // of a message or a thought
		DeltaContent string `json:"deltaContent"`
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

		InputTokens  int64 `json:"inputTokens"`
		OutputTokens int64 `json:"outputTokens"`

		TokenLimit    int64 `json:"tokenLimit"`    // of session.usage_info
		CurrentTokens int64 `json:"currentTokens"` // of session.usage_info

		ErrorType  string `json:"errorType"`
		StatusCode int    `json:"statusCode"`
		Reason     string `json:"reason"` // of a retry
		Aborted    bool   `json:"aborted"`

		RequestID         string            `json:"requestId"`
		PermissionRequest permissionRequest `json:"permissionRequest"`
	} `json:"data"`

	refused error // or nil: the agent did not take the prompt
}

// failure classes an error of the session by its fields.
func (e event) failure() *runner.Failure {
	return &runner.Failure{Class: classOf(e.Data.ErrorType, e.Data.StatusCode), Message: e.Data.Message}
}

func classOf(kind string, status int) runner.Class {
	switch kind {
	case "authentication", "authorization", "transient_auth_error":
		return runner.Auth
	case "quota", "rate_limit":
		return runner.Quota
	case "context_limit":
		return runner.Context
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return runner.Auth
	case status == http.StatusPaymentRequired:
		return runner.Billing
	case status == http.StatusTooManyRequests:
		return runner.Quota
	case status == http.StatusRequestEntityTooLarge:
		return runner.Context
	case status >= 500:
		return runner.Overload
	}
	return runner.Bug
}

// retry is why the agent tries again by itself: what is not the account's is
// the network's.
func (e event) retry() *runner.Failure {
	class := classOf(e.Data.Reason, 0)
	if class == runner.Bug {
		class = runner.Overload
	}
	return &runner.Failure{Class: class, Message: strings.ReplaceAll(e.Data.Reason, "_", " ")}
}

// permissionRequest is what the agent wants to do. Its kind says which members
// are set.
type permissionRequest struct {
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

	raw json.RawMessage
}

// UnmarshalJSON also keeps the request as it is.
func (p *permissionRequest) UnmarshalJSON(data []byte) error {
	type plain permissionRequest
	_ = json.Unmarshal(data, (*plain)(p)) // Best effort: a policy asks for what it does not know.
	p.raw = json.RawMessage(strings.Clone(string(data)))
	return nil
}

// request says what is asked for in the terms of policies.
func (p permissionRequest) request(tool string) permission.Request {
	r := permission.Request{Tool: tool, Kind: permission.Other, Text: p.Intention, Input: p.raw}
	switch p.Kind {
	case "shell":
		r.Kind, r.Command, r.Paths = permission.Execute, p.FullCommandText, p.PossiblePaths
	case "write":
		r.Kind, r.Paths = permission.Edit, []string{p.FileName}
	case "read":
		r.Kind, r.Paths = permission.Read, []string{p.Path}
	case "url":
		r.Kind, r.URL = permission.Fetch, p.URL
	case "mcp":
		r.Tool = "mcp__" + p.ServerName + "__" + p.ToolName
	}
	if r.Tool == "" {
		r.Tool = p.ToolName
	}
	if r.Tool == "" {
		r.Tool = p.Kind
	}
	if r.Text == "" {
		r.Text = p.Kind + " " + r.Tool
	}
	return r
}
