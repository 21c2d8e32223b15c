package copilot

import (
	"net/http"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/copilot/wire"
)

// event is something that happened in a session, or a prompt that was refused.
type event struct {
	wire.Event
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

// requestOf says what is asked for in the terms of policies.
func requestOf(p wire.PermissionRequest, tool string) permission.Request {
	r := permission.Request{Tool: tool, Kind: permission.Other, Text: p.Intention, Input: p.Raw}
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
