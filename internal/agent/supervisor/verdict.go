package supervisor

import (
	"context"
	"time"
)

// Action is what a judge thinks should happen. The values are sent: add,
// never rename.
type Action string

// The actions.
const (
	OK          Action = "OK"           // it gets on
	Correction  Action = "CORRECTION"   // it is stuck, and needs another direction
	ThinkDeeper Action = "THINK_DEEPER" // it should reflect before it goes on
	Escalation  Action = "ESCALATION"   // a person has to look at it
)

func (a Action) valid() bool { return a == OK || a.corrects() || a == Escalation }

func (a Action) corrects() bool { return a == Correction || a == ThinkDeeper }

// A Verdict is a judge's answer.
type Verdict struct {
	Action  Action `json:"verdict"`
	Message string `json:"message"` // for the agent or for a person; "" only of OK
}

// A Judge evaluates what an agent did. An error says nothing about the agent.
type Judge interface {
	Judge(ctx context.Context, w Window) (Verdict, error)
}

// Window is the last steps of an agent, the oldest first.
type Window struct {
	Agent string
	Steps []Step
	// Whispered is the last correction, if the agent has had one since it was
	// last OK, and Since the number of steps that it has made after it.
	Whispered string
	Since     int
}

// A Step is one message of the agent with the tools that it used. A turn that
// answers one prompt may have hundreds of them, and an agent can be stuck
// within one turn: so steps are counted, not prompts.
type Step struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text,omitempty"`
	Tools []Tool    `json:"tools,omitempty"`
	Error string    `json:"error,omitempty"` // why the turn failed with this step, or ""
	Asked bool      `json:"asked,omitempty"` // it is the first of a turn that a person asked for
}

// Tool is one use of a tool.
type Tool struct {
	Name   string `json:"name"`
	Input  string `json:"input,omitempty"` // JSON
	Result string `json:"result,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Done   bool   `json:"done,omitempty"` // Result and Failed are known
}
