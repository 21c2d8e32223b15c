// Package permission decides what an agent may do: by policy, or by asking its
// owner.
package permission

import "encoding/json"

// A Request is one use of a tool that an agent wants to make. Drivers fill in
// what their protocol tells; a field that it does not tell stays empty, and a
// policy treats what it does not know as the riskier case.
type Request struct {
	Tool string `json:"tool"` // as the agent names it: "Bash", "shell", "edit"
	Kind Kind   `json:"kind"`
	// Command is the command line of Execute, as the agent gave it.
	Command string `json:"command,omitempty"`
	// Dir is where the command would run, absolute; "" where the agent does not
	// tell: then it is taken for its own, and a change of it is asked for.
	Dir string `json:"dir,omitempty"`
	// Paths are the files that it reads or changes, as the agent gave them.
	Paths []string `json:"paths,omitempty"`
	// URL is what Fetch would reach.
	URL string `json:"url,omitempty"`
	// Text says what it is about, for people. Of a Question it is what is
	// asked.
	Text string `json:"text,omitempty"`
	// Choices are the answers that a Question offers; others are possible.
	Choices []string `json:"choices,omitempty"`
	// Input is the tool's input as it is.
	Input json.RawMessage `json:"input,omitempty"`
}

// Kind groups tools by what they can do. The values are stored and sent: add,
// never rename.
type Kind string

// The kinds of tools. A driver that does not know a tool says Other.
const (
	Read    Kind = "read"    // reads or searches files
	Edit    Kind = "edit"    // changes, moves or deletes files
	Execute Kind = "execute" // runs a command
	Fetch   Kind = "fetch"   // reaches the network
	Think   Kind = "think"   // changes nothing: plans, to-do lists
	Other   Kind = "other"
	// Question asks a person something, and is answered with text.
	Question Kind = "question"
)

// A Decision answers a request.
type Decision struct {
	Allow bool
	// Always is that its owner does not want to be asked for the like again.
	// The policy remembers it. The agent goes on asking: what it would take for
	// the like is wider.
	Always bool
	// Reason is for the agent: why it was denied.
	Reason string
	// Answer is what a person answered, where the request is a Question.
	Answer string
	// Interrupt asks that the turn ends with a denial.
	Interrupt bool
}
