// Package turns keeps what is said and done in the turns of an agent that a
// protocol drives: who asked what, what the agent thought, said and used, what it
// asked permission for, and how each turn ended.
//
// It is a journal of JSON lines beside the harness's other files, bounded and
// without known kinds of secrets: docs/protocol/turns.md.
package turns

import (
	"time"

	"den/internal/agent/conversation"
)

const version = 1

// Entry is one line. Its Kind says which fields it has.
type Entry struct {
	V    int       `json:"v"`
	Seq  uint64    `json:"seq"` // counts from 1 without a gap, over all harnesses of the agent
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	Turn string    `json:"turn,omitempty"` // the id of the message whose turn it belongs to

	Text string `json:"text,omitempty"` // what was said, or why
	Cut  bool   `json:"cut,omitempty"`  // Text or Input is only the beginning

	From    *Origin `json:"from,omitempty"`    // of Prompt
	Attempt int     `json:"attempt,omitempty"` // of Prompt from the second on, and of Ended: how many

	Use    string `json:"use,omitempty"`    // of Used and Result: the same for both
	Tool   string `json:"tool,omitempty"`   // of Used and Asked
	Input  string `json:"input,omitempty"`  // of Used: JSON
	Failed bool   `json:"failed,omitempty"` // of Result and Ended
	Denied bool   `json:"denied,omitempty"` // of Result

	Approval string `json:"approval,omitempty"` // of Asked and Decided: its id
	State    string `json:"state,omitempty"`    // of Decided: approved, denied, expired or withdrawn
	By       string `json:"by,omitempty"`       // of Decided

	Class     string              `json:"class,omitempty"`     // of Failed and Ended: the failure's
	Until     time.Time           `json:"until,omitzero"`      // of Failed: when den goes on
	Cancelled bool                `json:"cancelled,omitempty"` // of Ended
	TookMs    int64               `json:"took_ms,omitempty"`   // of Ended
	Usage     *conversation.Usage `json:"usage,omitempty"`     // of Ended
}

// Kind is what an entry tells. The values are stored: add, never rename.
type Kind string

// The kinds of entries.
const (
	Prompt  Kind = "prompt"  // a turn, or another attempt of it, begins
	Said    Kind = "said"    // the agent's words
	Thought Kind = "thought" // and what it thinks
	Used    Kind = "use"     // a tool
	Result  Kind = "result"  // how that ended
	Asked   Kind = "asked"   // for permission, or a question
	Decided Kind = "decided" // how that ended
	Note    Kind = "note"
	Failed  Kind = "failed" // an attempt; den makes another
	Ended   Kind = "ended"
)

// Origin is where a prompt comes from.
type Origin struct {
	Kind  Source `json:"kind"`
	Who   string `json:"who,omitempty"`   // the nick, or the agent that asks
	Where string `json:"where,omitempty"` // the channel
	Agent bool   `json:"agent,omitempty"` // a program asks, not a person
}

// Source is a way on which prompts come. The values are stored: add, never
// rename.
type Source string

// The ways.
const (
	FromChannel    Source = "channel"
	FromDirect     Source = "direct" // a direct message in the chat
	FromAsk        Source = "ask"    // somebody waits for the answer: 'den agent ask'
	FromNudge      Source = "nudge"  // 'den agent nudge', or a page
	FromScreen     Source = "screen" // a line on the harness's terminal
	FromSupervisor Source = "supervisor"
	FromStart      Source = "start" // the agent's first prompt
	FromUnknown    Source = "unknown"
)
