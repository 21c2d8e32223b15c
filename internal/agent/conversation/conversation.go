// Package conversation has the words of talking with one agent, on a screen and
// by a protocol: messages, receipts, states, questions, answers.
//
// Package agent declares who talks: its Conversation. What a conversation
// reports has evidence: a receipt says how far a message is known to have come
// and why, and a state names its source. A Source tells more than a screen does.
package conversation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

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
	ID       string   `json:"message_id"`
	Progress Progress `json:"progress"`
	// Evidence says what shows it, for people: "the composer showed it whole
	// and then emptied", "turn/started has it". Empty for Queued.
	Evidence string    `json:"evidence,omitempty"`
	At       time.Time `json:"at"`
}

// Activity is what an agent does. The values are stored and sent: add, never
// rename.
type Activity string

// What an agent does.
const (
	Starting   Activity = "starting"
	Ready      Activity = "ready"  // its turn is over
	Busy       Activity = "busy"   // it works on a turn
	Asking     Activity = "asking" // it waits for a decision; State.Question has it
	TurnFailed Activity = "failed" // its last turn ended in an error
	Gone       Activity = "gone"   // its process has ended
	Unknown    Activity = "unknown"
)

// TakesMessage reports whether nothing keeps an agent from its next turn.
func (a Activity) TakesMessage() bool { return a == Ready || a == TurnFailed }

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
	ID      string       `json:"id"` // differs between two questions of one agent, but see SharedID
	Kind    QuestionKind `json:"kind"`
	Text    string       `json:"text"`
	Options []Option     `json:"options,omitempty"` // empty where they are not known

	// Vague says that Text only tells that something is asked: its source does
	// not know what. SharedID says that its source cannot tell two questions in
	// a row apart.
	Vague    bool `json:"-"`
	SharedID bool `json:"-"`
}

// Offers reports whether an option is one of the question's.
func (q Question) Offers(option string) bool {
	return slices.ContainsFunc(q.Options, func(o Option) bool { return o.ID == option })
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

// Option is one way to answer a question. In JSON it is its label.
type Option struct {
	ID    string
	Label string
}

// MarshalText is the label.
func (o Option) MarshalText() ([]byte, error) { return []byte(o.Label), nil }

// UnmarshalText makes an option of a label.
func (o *Option) UnmarshalText(text []byte) error {
	o.ID, o.Label = string(text), string(text)
	return nil
}

// ToolUse is a tool that an agent used.
type ToolUse struct {
	Name  string
	Input string // as the agent gave it, JSON where it was that
}

// MarshalJSON writes the input as JSON. What is none is a text. Who encodes
// decides whether it is escaped for pages.
func (u ToolUse) MarshalJSON() ([]byte, error) {
	t := toolUse{Name: u.Name}
	switch {
	case json.Valid([]byte(u.Input)):
		t.Input = json.RawMessage(u.Input)
	case u.Input != "":
		t.Input = u.Input
	}
	var out bytes.Buffer
	plain := json.NewEncoder(&out)
	plain.SetEscapeHTML(false)
	err := plain.Encode(t)
	return out.Bytes(), err
}

// UnmarshalJSON keeps the input as it is written.
func (u *ToolUse) UnmarshalJSON(data []byte) error {
	var input json.RawMessage
	t := toolUse{Input: &input}
	err := json.Unmarshal(data, &t)
	u.Name, u.Input = t.Name, string(input)
	return err
}

// toolUse is a ToolUse in JSON.
type toolUse struct {
	Name  string `json:"name"`
	Input any    `json:"input,omitempty"`
}

// Usage counts what a turn used.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"` // cached ones included
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"` // 0 where it is not known
}

// ErrAgentEnded is the cause of a context that ends because the agent was ended
// on purpose: what is being typed at it is not typed to its end.
var ErrAgentEnded = errors.New("the agent was ended")

// A Source tells what a coding agent does from something truer than its
// screen: a state file, a socket, an event stream, a window title.
type Source interface {
	// Name says what is read, for 'den agent explain'.
	Name() string
	// State returns what the agent does now. An Activity of Unknown means
	// that the source has nothing to say at the moment, as during the dialogs
	// of a start: then the screen decides.
	State(ctx context.Context) (State, error)
	// Changes returns a channel that receives after the state may have
	// changed. A slow receiver misses none: tokens are merged. It is closed
	// when the source has ended.
	Changes() <-chan struct{}
	// Close lets go of the source and waits for its goroutines.
	Close() error
}

// A Sender is a Source that can also hand a message over, without typing.
type Sender interface {
	Send(ctx context.Context, m Message) (Receipt, error)
}

// A Confirmer is a Sender that can also tell later what became of a message.
type Confirmer interface {
	// Confirm returns the receipt of a message that the agent has. found is
	// false where it does not have it, or does not show it yet.
	Confirm(ctx context.Context, id string) (r Receipt, found bool, err error)
}

// An Answerer is a Source that can also decide a question, without typing.
type Answerer interface {
	Answer(ctx context.Context, question, option string) error
}

// Harness is the name under which agents are known that a harness drives.
const Harness = "harness"

// SourceName says what the state of a preset's agent is read from before its
// screen, "" for nothing.
func SourceName(vendor string) string {
	switch vendor {
	case "claude":
		return "claude session file"
	case "codex":
		return "codex app server"
	case "copilot":
		return "copilot session files"
	case "gemini":
		return "gemini window title"
	case "opencode":
		return "opencode server"
	case Harness:
		return Harness
	}
	return ""
}

// Asked is a message whose answer is looked for.
type Asked struct {
	Message
	// Handed is when den began to hand it over: what the agent got before
	// that is another message, whatever its text.
	Handed time.Time
}

// Is reports whether a text that the agent got at a time is the message. White
// space does not count: agents change it.
func (a Asked) Is(text string, at time.Time) bool {
	return !at.Before(a.Handed.Truncate(time.Millisecond)) && slices.Equal(strings.Fields(a.Text), strings.Fields(text))
}

// Reply is what an agent said to a message.
type Reply struct {
	Text string
	// Ended says that the turn is over; else more may come.
	Ended     bool
	Cancelled bool   // somebody ended the turn
	Failure   string // why the turn failed, "" where it did not

	Duration time.Duration // of the turn, 0 where it is not known
	Usage    Usage         // zero where it is not known
	Tools    []ToolUse     // that the agent used, in order; nil where that is not known

	Source    string // what it was read from: "claude transcript", "screen"
	Certainty Certainty
}

// AskOptions are how an answer is waited for.
type AskOptions struct {
	Caller string        // the agent that asks, "" for a person
	Limit  time.Duration // 0 for as long as who asks stays
}

// Answer is what who asks an agent gets, once the turn is over. It is sent as
// JSON.
type Answer struct {
	ID         string    `json:"message_id"`
	Text       string    `json:"text"`
	DurationMs int64     `json:"duration_ms"`
	Usage      Usage     `json:"usage"`
	Tools      []ToolUse `json:"tools,omitempty"`
	// ToolsIncomplete means that Tools may lack some: the turn used more than
	// are kept, was long ago, or began before the harness was restarted.
	ToolsIncomplete bool `json:"tools_incomplete,omitempty"`

	Cancelled bool      `json:"cancelled,omitempty"`
	Attempts  int       `json:"attempts"`
	Source    string    `json:"source"`              // how the answer is known
	Certainty Certainty `json:"certainty,omitempty"` // how surely it is the one to the message
}

// Certainty is how surely a reply is the one to the message. The values are
// sent: add, never rename.
type Certainty string

// The degrees of certainty, from the highest.
const (
	Exact   Certainty = "exact"   // the agent's own record ties it to the message's id
	Matched Certainty = "matched" // the agent's own record has the message by its text, and the reply behind it
	Likely  Certainty = "likely"  // it stands behind the message, and may hold more or less than the reply
	Unsure  Certainty = "unsure"  // likely, and whether the turn was over is not known
)

// A Replier is a Source that can also tell what the agent said to a message,
// from the record that the agent keeps.
type Replier interface {
	// ReplyTo returns what the agent has said to a message so far. A message
	// that the record does not have, or not yet, is fault.NotFound.
	ReplyTo(ctx context.Context, m Asked) (Reply, error)
}
