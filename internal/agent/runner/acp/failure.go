package acp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
)

// The protocol's own codes of errors.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002 // a file or a session is not there
)

// authMethod is a way to log in that the agent offers.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (m authMethod) String() string {
	if m.Description == "" || m.Description == m.Name {
		return m.Name
	}
	return m.Name + " (" + m.Description + ")"
}

// failureOf gives an error of the agent its class. Errors that are not the
// agent's are returned as they are.
func failureOf(err error, login []authMethod) error {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return err
	}
	f := &runner.Failure{Class: classOf(answer), Message: textOf(answer), RetryAfter: retryAfter(answer)}
	if f.Class == runner.Auth && len(login) > 0 {
		var ways []string
		for _, m := range login {
			ways = append(ways, m.String())
		}
		f.Message += "; ways to log in: " + strings.Join(ways, "; ")
	}
	return f
}

// classOf reads an error's code, and the HTTP status that agents pass on from
// their vendor, in the code itself or in the error's data.
func classOf(e *jsonrpc.Error) runner.Class {
	switch e.Code {
	case codeAuthRequired:
		return runner.Auth
	case codeNotFound:
		return runner.NoSession
	}
	for _, status := range append([]int{e.Code}, numbers(e.Data, "status", "statusCode", "code", "http_status")...) {
		if class, known := classOfStatus(status); known {
			return class
		}
	}
	return runner.Bug
}

func classOfStatus(status int) (runner.Class, bool) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return runner.Auth, true
	case status == http.StatusPaymentRequired:
		return runner.Billing, true
	case status == http.StatusTooManyRequests:
		return runner.Quota, true
	case status == http.StatusRequestEntityTooLarge:
		return runner.Context, true
	case status >= 500 && status <= 599 || status == http.StatusRequestTimeout:
		return runner.Overload, true
	}
	return "", false
}

// textOf is the error's message, and what its data adds to it.
func textOf(e *jsonrpc.Error) string {
	for _, said := range texts(e.Data, "message", "details", "error") {
		if said != "" && !strings.Contains(e.Message, said) {
			return e.Message + ": " + runner.Clip(said)
		}
	}
	return e.Message
}

func retryAfter(e *jsonrpc.Error) time.Duration {
	for _, seconds := range numbers(e.Data, "retryAfter", "retry_after", "retryAfterSeconds") {
		if seconds > 0 {
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// numbers returns the whole numbers that an error's data has under these
// names, at most two levels down.
func numbers(data json.RawMessage, names ...string) []int {
	return members[int](data, 2, names)
}

func texts(data json.RawMessage, names ...string) []string {
	var whole string
	if json.Unmarshal(data, &whole) == nil {
		return []string{whole}
	}
	return members[string](data, 2, names)
}

func members[T any](data json.RawMessage, depth int, names []string) []T {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	var found []T
	for _, name := range names {
		var v T
		if raw, has := object[name]; has && json.Unmarshal(raw, &v) == nil {
			found = append(found, v)
		}
	}
	if depth > 1 {
		for _, name := range []string{"error", "data", "cause", "details"} {
			found = append(found, members[T](object[name], depth-1, names)...)
		}
	}
	return found
}

// asNoSession makes the failure to resume a session one that a new session
// helps against, unless a new one would fail in the same way.
func asNoSession(err error) error {
	var f *runner.Failure
	if !errors.As(err, &f) || f.Class != runner.Bug || errors.Is(err, context.Canceled) {
		return err
	}
	return &runner.Failure{Class: runner.NoSession, Message: f.Message}
}
