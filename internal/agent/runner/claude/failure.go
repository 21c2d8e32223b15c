package claude

import (
	"strings"

	"den/internal/agent/runner"
)

// failureOf classes a result that is an error. apiError is the message of the
// turn that stands for an API error, or nil: it has the error's kind.
func failureOf(m, apiError *message) *runner.Failure {
	f := &runner.Failure{Class: runner.Bug, Message: m.Result}
	if f.Message == "" {
		f.Message = strings.Join(m.Errors, "; ")
	}
	if f.Message == "" {
		f.Message = m.Subtype
	}
	word, status := m.errorWord(), m.APIErrorStatus
	if apiError != nil {
		word = apiError.errorWord()
		if status == 0 {
			status = apiError.APIErrorStatus
		}
	}
	f.Class = classOf(status, word)
	switch {
	case m.TerminalReason == "prompt_too_long":
		f.Class = runner.Context
	case m.TerminalReason == "api_error" && status == 0 && f.Class == runner.Bug:
		f.Class = runner.Overload // no answer of the API at all: its connection broke
	}
	return f
}

// classOf classes an API error by its status and by the word that the agent
// has for it. Either may be missing.
func classOf(status int, word string) runner.Class {
	switch status {
	case 401, 403:
		return runner.Auth
	case 402:
		return runner.Billing
	case 429:
		return runner.Quota
	case 413:
		return runner.Context
	}
	switch word {
	case "authentication_failed", "oauth_org_not_allowed":
		return runner.Auth
	case "billing_error":
		return runner.Billing
	case "rate_limit":
		return runner.Quota
	case "overloaded", "server_error":
		return runner.Overload
	}
	if status >= 500 || status == 408 {
		return runner.Overload
	}
	return runner.Bug
}
