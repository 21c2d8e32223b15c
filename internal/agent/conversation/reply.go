package conversation

import (
	"context"
	"slices"
	"strings"
	"time"
)

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
