// Package conversation is the contract for talking with one agent: one shape
// for a TUI on a screen and for a protocol on pipes.
//
// The keeper, 'den ps', the dashboards and the harness use only this. A
// conversation gives evidence for what it reports: a receipt says how far a
// message is known to have come and why, and a state names its source.
package conversation

import (
	"cmp"
	"context"
	"time"
)

// A Conversation is how den talks with one agent. Its methods may be called
// concurrently.
type Conversation interface {
	// Send hands over a message and returns how far it is known to have come.
	// The same ID sent twice is one message.
	Send(ctx context.Context, m Message) (Receipt, error)
	// State is what the agent does now.
	State(ctx context.Context) (State, error)
	// Answer decides an open question by one of its options. A question that
	// is no longer open is fault.NotFound, and nothing is pressed or sent.
	Answer(ctx context.Context, question, option string) error
	// Events calls each with what happened after a sequence number, in order,
	// and then with what happens, until the context ends or each fails.
	Events(ctx context.Context, after uint64, each func(Event) error) error
}

// Message is text for an agent.
type Message struct {
	ID   string // chosen by the caller or made by den; unique for the agent
	Text string
}

// Progress is how far a message is known to have come. The values are stored
// and sent: add, never rename.
type Progress string

// The steps of a message, in order. Failed is final: it was certainly not
// handed over.
const (
	Queued   Progress = "queued"   // on disk
	Sent     Progress = "sent"     // written to the agent; nothing says that it took it
	Taken    Progress = "taken"    // the agent itself took it
	Answered Progress = "answered" // the turn that it began has ended
	Failed   Progress = "failed"
)

// Final reports whether the message was handed over, or certainly cannot be:
// nobody sends it again.
func (p Progress) Final() bool {
	return p == Sent || p == Taken || p == Answered || p == Failed
}

// Receipt is a claim about a message, with its evidence.
type Receipt struct {
	ID       string
	Progress Progress
	// Evidence says what shows it, for people: "the composer showed it whole
	// and then emptied", "turn/started has it". Empty for Queued.
	Evidence string
	At       time.Time
}

// Activity is what an agent does. The values are stored and sent: add, never
// rename.
type Activity string

// What an agent does.
const (
	Starting Activity = "starting"
	Ready    Activity = "ready"  // its turn is over; it takes a message
	Busy     Activity = "busy"   // it works on a turn
	Asking   Activity = "asking" // it waits for a decision; State.Question has it
	Broken   Activity = "failed" // its last turn ended in an error; it takes a message
	Gone     Activity = "gone"   // its process has ended
	Unknown  Activity = "unknown"
)

// State is what an agent does now, and how that is known.
type State struct {
	Activity Activity
	Since    time.Time // or zero where it is not known
	Question *Question // set exactly while Asking
	Why      string    // for people: the error, the phrase, the reason for Unknown
	Source   string    // what it was read from: "claude session file", "screen"
	Fallback string    // why it was not read from a truer source that the agent has, else ""
	Budget   *Budget   // of an agent whose use is limited, else nil
}

// SourceName is Source, or the screen where none is given.
func (s State) SourceName() string { return cmp.Or(s.Source, "screen") }

// Budget is how much of its limits an agent has used.
type Budget struct {
	Level string // ok, warned (four fifths are used) or exceeded (no turn begins)
	Text  string // the tightest limit, for people: "1.2M of 2M tokens in the last hour"
}

// Question is a decision that an agent waits for.
type Question struct {
	ID      string // differs between two questions of one agent, but see SharedID
	Text    string
	Kind    QuestionKind
	Options []Option // empty where they are not known

	// Vague says that Text only tells that something is asked: its source does
	// not know what. SharedID says that its source cannot tell two questions in
	// a row apart.
	Vague, SharedID bool
}

// QuestionKind groups questions by what a wrong answer does. The values are
// stored and sent: add, never rename.
type QuestionKind string

// The kinds of questions.
const (
	Permission QuestionKind = "permission" // a tool wants to run
	Choice     QuestionKind = "choice"     // the agent asks its user something
	Plan       QuestionKind = "plan"       // a plan is to be approved
	Dialog     QuestionKind = "dialog"     // a dialog of the CLI itself: trust, keys, models
)

// Option is one way to answer a question.
type Option struct {
	ID    string
	Label string
}

// Event is one thing that happened in a conversation.
type Event struct {
	Seq  uint64
	At   time.Time
	Kind EventKind
	Turn string // the id of the message that began the turn, or ""

	State   *State   // of StateChanged
	Receipt *Receipt // of MessageMoved
	Text    string   // of Said: what the agent said
	Tool    *ToolUse // of ToolUsed
	Usage   *Usage   // of UsageReported and TurnEnded, where it is known
}

// EventKind is what an event tells. The values are stored and sent: add,
// never rename.
type EventKind string

// The kinds of events.
const (
	StateChanged  EventKind = "state"
	MessageMoved  EventKind = "message"
	Said          EventKind = "said"
	ToolUsed      EventKind = "tool"
	UsageReported EventKind = "usage"
	TurnEnded     EventKind = "turn_ended"
)

// ToolUse is a tool that an agent used.
type ToolUse struct {
	Name  string
	Input string // as the agent gave it, JSON where it was that
}

// Usage counts what a turn cost.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	CostUSD      float64 // 0 where it is not known
}
