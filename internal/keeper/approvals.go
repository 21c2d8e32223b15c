package keeper

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session/attention"
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

// AttentionFrom asks for what waits for a person.
type AttentionFrom struct {
	Follow bool `json:"follow,omitempty"` // send it again with every change
	// File is the workspace file as the caller named it, or "": it becomes
	// part of the commands.
	File string `json:"file,omitempty"`
}

// Attention is everything in a workspace that waits for a person.
type Attention struct {
	Waiting     []Waiting  `json:"waiting"`               // what waits longest first
	Recent      []Approval `json:"recent,omitempty"`      // approvals that ended a short while ago, the newest first
	Unreachable []string   `json:"unreachable,omitempty"` // agents whose harness did not answer
}

// Attention asks for what waits for a person. It is nil if the keeper is of an
// earlier version, which does not know.
func (c *Client) Attention(ctx context.Context) (*Attention, error) {
	var all Attention
	err := c.Call(ctx, MethodAttention, AttentionFrom{}, &all)
	switch fault.KindOf(err) {
	case fault.Protocol, fault.NotFound: // it took the empty name for an agent's
		return nil, nil
	case "":
		return &all, nil
	}
	return nil, err
}

// Waiting is one thing that waits for a person.
type Waiting struct {
	// ID is the same for as long as the same thing waits, and differs between
	// all that waits.
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Agent string `json:"agent,omitempty"`
	// Session is the agent's for den's own verbs, where they work on it.
	Session string `json:"session,omitempty"`
	// State is asking, failed or done; empty if the keeper is of an earlier
	// version.
	State attention.State `json:"state,omitempty"`
	// Workspace is the file of the agent's workspace, and Home that of a session
	// which is no agent's, where all of a machine is listed.
	Workspace string    `json:"workspace,omitempty"`
	Home      string    `json:"home,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // zero where it is not known
	Expires   time.Time `json:"expires,omitzero"` // when it ends by itself
	What      string    `json:"what"`             // what is asked, on one line
	// Evidence says how it is known.
	Evidence string   `json:"evidence"`
	Actions  []Action `json:"actions"` // each decides it
	// Approval is set exactly for WaitingApproval.
	Approval *Approval `json:"approval,omitempty"`
}

// The kinds of what waits. They are sent: add, never rename.
const (
	WaitingApproval   = "approval"   // an agent asks for permission
	WaitingQuestion   = "question"   // a TUI asks something on its screen
	WaitingQuarantine = "quarantine" // an agent failed too often and is not restarted
	WaitingCircuit    = "circuit"    // an agent's turns failed too often
	WaitingFailure    = "failure"    // an agent waits for a login, or for a payment
	WaitingEscalation = "escalation" // an agent's supervisor has called a person
	WaitingBudget     = "budget"     // an agent has used up its budget
	WaitingCell       = "cell"       // a cell in an agent's session asks something
	WaitingConfig     = "config"     // the newest workspace file is not in force
	WaitingDone       = "done"       // a turn is over, or a program has ended, and nobody has looked
	WaitingFailed     = "failed"     // a turn, a cell or a program failed, and nobody has looked
)

// StateOf is the state of attention that a kind of waiting means.
func StateOf(kind string) attention.State {
	switch kind {
	case WaitingApproval, WaitingQuestion, WaitingCell:
		return attention.Asking
	case WaitingDone:
		return attention.Done
	}
	return attention.Failed
}

// Action is one way to decide what waits.
type Action struct {
	Name    string `json:"name"` // approve, deny; of a question's option "1: Yes"
	Command string `json:"command"`
}

// Answer answers the question of an agent that is driven by its screen.
type Answer struct {
	Agent    string `json:"agent"`
	Question string `json:"question"` // its id: another question is not answered
	Option   string `json:"option"`   // its number, its id or its text
	By       string `json:"by"`
	For      []int  `json:"for,omitempty"` // as that of a Decision
}

// Act is something that somebody does with a session, beside the keeper: it is
// refused to agents, and noted where the session is an agent's.
type Act struct {
	Session string `json:"session"` // for den's own verbs
	Action  string `json:"action"`  // one of those below
	By      string `json:"by"`
	For     []int  `json:"for,omitempty"` // as that of a Decision
}

// What is done. It is noted: add, never rename.
const (
	ActTakeOver = "take_over" // typing into its terminal
	ActLeave    = "leave"     // and the end of that
	ActAnswer   = "answer"    // what a cell asks
	ActMessage  = "message"
	ActStop     = "stop"
)

// Acted answers an Act.
type Acted struct {
	Agent string `json:"agent,omitempty"` // whose session it is, or ""
}

// Answered answers an answer.
type Answered struct {
	Agent    string `json:"agent"`
	Question string `json:"question"`
	Option   string `json:"option"` // the text of the option that was chosen
}
