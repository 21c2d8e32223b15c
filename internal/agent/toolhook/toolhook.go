// Package toolhook is the hook that coding agents run before they use a tool, so
// that den's policy decides. It has the hook's command line, and writes the answer
// that each vendor's program understands.
package toolhook

import (
	"encoding/json"
	"strings"
	"time"
)

// Verb is the word of den that is the hook. It is for coding agents, not for
// people.
const Verb = "permission-hook"

// The moments at which a program runs the hook.
const (
	BeforeTool = "before-tool"         // before every use of a tool
	Unasked    = "before-tool-unasked" // as well, by a program that may not ask its user
	OnRequest  = "on-request"          // when it would ask its user
)

// How long the hook waits for the keeper. Programs wait longer, and go on without
// an answer then. AskPatience is where a person may be asked meanwhile, for longer
// than an approval is open.
const (
	Patience    = 20 * time.Second
	AskPatience = 20 * time.Minute
)

// Patience is how long the call may take.
func (c Call) Patience() time.Duration {
	if c.Vendor == "codex" && c.Moment != OnRequest {
		return AskPatience
	}
	return Patience
}

// A Call is one run of the hook: what it is told on its command line.
type Call struct {
	Vendor string // the preset's name
	Moment string
	Agent  string // its name in the workspace
	Socket string // the keeper's
}

// Words are the call as the arguments behind den's name.
func (c Call) Words() []string { return []string{Verb, c.Vendor, c.Moment, c.Agent, c.Socket} }

// ParseCall reads the words behind Verb.
func ParseCall(words []string) (Call, bool) {
	if len(words) != 4 {
		return Call{}, false
	}
	return Call{Vendor: words[0], Moment: words[1], Agent: words[2], Socket: words[3]}, true
}

// Line is the call as a line of shell.
func (c Call) Line(den string) string {
	words := append([]string{den}, c.Words()...)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// The outcomes of a decision; "" leaves it to the program.
const (
	Allow = "allow"
	Ask   = "ask"
	Deny  = "deny"
)

// Answer is what the program takes for an outcome: JSON, or nothing where it
// goes on as it would without the hook.
func (c Call) Answer(outcome, why string) []byte {
	var answer any
	switch c.Vendor {
	case "claude":
		answer = claudeAnswer(outcome, why)
	case "codex":
		answer = codexAnswer(c.Moment, outcome, why)
	case "copilot":
		answer = copilotAnswer{outcome, why}
	}
	if outcome == "" || answer == nil {
		return nil
	}
	data, err := json.Marshal(answer)
	if err != nil {
		panic(err) // strings: cannot be
	}
	return data
}

// specific is an answer to an event that has fields of its own.
type specific struct {
	Output any `json:"hookSpecificOutput"`
}

type toolDecision struct {
	Event    string `json:"hookEventName"` // PreToolUse
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}

func claudeAnswer(outcome, why string) any { return specific{toolDecision{"PreToolUse", outcome, why}} }

type requestDecision struct {
	Event    string   `json:"hookEventName"` // PermissionRequest
	Decision behavior `json:"decision"`
}

type behavior struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// codexAnswer: before a tool codex takes a denial only, and fails on other
// words; a request for approval is answered or goes on to its user. What is to be
// asked for where it asks nobody is denied.
func codexAnswer(moment, outcome, why string) any {
	switch {
	case moment == BeforeTool && outcome == Deny, moment == Unasked && (outcome == Deny || outcome == Ask):
		return specific{toolDecision{"PreToolUse", Deny, why}}
	case moment == OnRequest && outcome == Deny:
		return specific{requestDecision{"PermissionRequest", behavior{Deny, why}}}
	case moment == OnRequest && outcome == Allow:
		return specific{requestDecision{"PermissionRequest", behavior{Allow, ""}}}
	}
	return nil
}

type copilotAnswer struct {
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}
