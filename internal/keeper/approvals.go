package keeper

import (
	"encoding/json"
	"strings"
	"time"

	"den/internal/base/fault"
)

// Approvals answers what agents ask permission for.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
	// Recent are those that were decided, expired or withdrawn a short while
	// ago, the newest first.
	Recent      []Approval `json:"recent,omitempty"`
	Unreachable []string   `json:"unreachable,omitempty"` // agents whose harness did not answer
}

// Approval is something that an agent asks permission for.
type Approval struct {
	ID      string          `json:"id"`
	Agent   string          `json:"agent"`
	Request ApprovalRequest `json:"request"`
	Asked   string          `json:"asked"` // why it is asked for
	Created time.Time       `json:"created"`
	Expires time.Time       `json:"expires"`
	Detail  json.RawMessage `json:"detail,omitempty"` // all that is known

	// State is open, or how it ended: approved, denied, expired or withdrawn.
	// By and Why say by whom and why. Always is that rules were added; Note
	// says why none were, although the decider wanted it.
	State   string    `json:"state,omitempty"`
	By      string    `json:"by,omitempty"`
	Why     string    `json:"why,omitempty"`
	Decided time.Time `json:"decided,omitzero"`
	Always  bool      `json:"always,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// ApprovalRequest is what the agent wants to do.
type ApprovalRequest struct {
	Tool    string   `json:"tool"`
	Kind    string   `json:"kind"`
	Command string   `json:"command,omitempty"`
	Dir     string   `json:"dir,omitempty"` // where it would run, or "" for the agent's own
	Paths   []string `json:"paths,omitempty"`
	URL     string   `json:"url,omitempty"`
	Text    string   `json:"text,omitempty"`
	Choices []string `json:"choices,omitempty"` // that a question offers
}

// What says it on one line.
func (r ApprovalRequest) What() string {
	words := []string{r.Tool, r.Command, strings.Join(r.Paths, " "), r.URL}
	if r.Command == "" && len(r.Paths) == 0 && r.URL == "" {
		words = append(words, r.Text)
	}
	if len(r.Choices) > 0 {
		words = append(words, "("+strings.Join(r.Choices, " | ")+")")
	}
	return OneLine(strings.Join(words, " "))
}

// Decision decides what an agent asks for.
type Decision struct {
	ID     string `json:"id"`
	Agent  string `json:"agent,omitempty"` // or "" where the id is enough
	Option string `json:"option"`          // approve, deny or answer
	Text   string `json:"text,omitempty"`  // of answer
	Always bool   `json:"always,omitempty"`
	By     string `json:"by"`
	Why    string `json:"why,omitempty"`
	// For are the processes that the caller decides for, such as the browser
	// that shows a page of the caller's. They must not be an agent's either.
	For []int `json:"for,omitempty"`
}

// Decided answers a decision.
type Decided struct {
	ID     string `json:"id"`
	Agent  string `json:"agent"`
	State  string `json:"state"` // approved, denied or answered
	Always bool   `json:"always,omitempty"`
	Note   string `json:"note,omitempty"` // why the like is asked for again

	Request ApprovalRequest `json:"request,omitzero"`
}

// PermissionQuestion asks what the policy of an agent says to a request.
type PermissionQuestion struct {
	Agent   string          `json:"agent"`
	Request ApprovalRequest `json:"request"`
}

// PermissionReplay asks what the requests of audit logs would get.
type PermissionReplay struct {
	Agents []string      `json:"agents,omitempty"` // or none for all
	Rules  string        `json:"rules,omitempty"`  // the file that has others, or ""
	Since  time.Duration `json:"since_ns,omitempty"`
}

// PermissionAnswer is what the policy says, for programs and for people.
type PermissionAnswer struct {
	Object json.RawMessage `json:"object"`
	Text   string          `json:"text"`
}

// OneLine makes text fit on a line.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ReadApprovals reads what a harness tells of them.
func ReadApprovals(data []byte) (Approvals, error) {
	var told struct {
		Approvals []json.RawMessage `json:"approvals"`
		Recent    []Approval        `json:"recent"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return Approvals{}, fault.Errorf(fault.Protocol, "read approvals: %w", err)
	}
	all := Approvals{Recent: told.Recent}
	for _, raw := range told.Approvals {
		var a Approval
		if err := json.Unmarshal(raw, &a); err != nil {
			return all, fault.Errorf(fault.Protocol, "read an approval: %w", err)
		}
		a.Detail = raw
		all.Approvals = append(all.Approvals, a)
	}
	return all, nil
}

// AnswerPermission is an answer for programs and for people.
func AnswerPermission(object any, text string) (PermissionAnswer, error) {
	data, err := json.Marshal(object) // den escapes what misleads when it prints
	return PermissionAnswer{Object: data, Text: text}, err
}
