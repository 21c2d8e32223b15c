package codex

import (
	"encoding/json"
	"strings"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
)

// failureOf classes an error of a turn.
func (s *session) failureOf(e *wire.TurnError) *runner.Failure {
	f := &runner.Failure{Class: classOf(e.Info), Message: e.Message}
	if f.Class == runner.Bug && strings.HasPrefix(e.Message, brokenStream) {
		f.Class = runner.Overload
	}
	if e.Details != "" && !strings.Contains(f.Message, e.Details) {
		f.Message = strings.TrimSpace(f.Message + " " + e.Details)
	}
	if f.Class == runner.Quota {
		s.mu.Lock()
		defer s.mu.Unlock()
		if wait := time.Until(s.resets); wait > 0 {
			f.RetryAfter = wait
		}
	}
	return f
}

// brokenStream begins the message of an error for which codex has no other word
// than "other": the connection to the model broke, after all retries.
const brokenStream = "stream disconnected before completion"

// classOf classes codexErrorInfo: a word, or an object of one word with an HTTP
// status.
func classOf(info json.RawMessage) runner.Class {
	var word string
	if json.Unmarshal(info, &word) == nil {
		return classOfWord(word)
	}
	var object map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(info, &object) != nil {
		return runner.Bug
	}
	for word, detail := range object {
		switch {
		case detail.Status == 401 || detail.Status == 403:
			return runner.Auth
		case detail.Status == 402:
			return runner.Billing
		case detail.Status == 429:
			return runner.Quota
		case detail.Status >= 500:
			return runner.Overload
		}
		return classOfWord(word)
	}
	return runner.Bug
}

func classOfWord(word string) runner.Class {
	switch word {
	case "unauthorized":
		return runner.Auth
	case "usageLimitExceeded", "rateLimitExceeded", "sessionBudgetExceeded":
		return runner.Quota
	case "contextWindowExceeded":
		return runner.Context
	case "serverOverloaded", "internalServerError", "flexUnavailable", "policyCapacityUnavailable",
		"httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected", "responseTooManyFailedAttempts":
		return runner.Overload
	}
	return runner.Bug
}

// callFailure is for a request that codex refused. A request that makes no sense
// is its answer to an id of no thread.
func callFailure(method string, e *jsonrpc.Error) *runner.Failure {
	f := &runner.Failure{Class: runner.Bug, Message: method + ": " + e.Message}
	if method == "thread/resume" && e.Code == jsonrpc.CodeInvalidRequest {
		f.Class = runner.NoSession
	}
	return f
}

// resetsOf is when a limit that was reached is lifted, or zero if none was.
func resetsOf(r *wire.RateLimits) time.Time {
	var at time.Time
	if r == nil {
		return at
	}
	for _, w := range []*wire.Limit{r.Primary, r.Secondary} {
		if w != nil && w.UsedPercent >= 100 && w.ResetsAt > 0 {
			if t := time.Unix(w.ResetsAt, 0); t.After(at) {
				at = t
			}
		}
	}
	return at
}
