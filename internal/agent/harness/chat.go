package harness

import (
	"context"
	"time"

	"den/internal/agent/harness/ipc"
)

// Chat is the harness's place in the channels.
type Chat interface {
	// Nick is the agent's, as the server has it.
	Nick() string
	// Connected reports whether the server can be reached now.
	Connected() bool
	// Send says text to a channel or a person, in as many lines as it takes.
	// It returns when the server has it. id is the sender's. again says that
	// the message may have been sent before: what the server has of it is not
	// said twice, as far as the server lets that be known.
	Send(ctx context.Context, target, text, id string, again bool) error
	// Notice says something that programs do not answer.
	Notice(ctx context.Context, target, text string) error
	Join(ctx context.Context, channel string) error
	Part(ctx context.Context, channel string) error
	// Who tells who is in a channel, or of one person.
	Who(ctx context.Context, target string) ([]ipc.Person, error)
	Topic(ctx context.Context, channel string) (string, error)
	SetTopic(ctx context.Context, channel, topic string) error
	Invite(ctx context.Context, nick, channel string) error
	// Everybody tells who is on the server, as far as it lets that be known.
	Everybody(ctx context.Context) ([]ipc.Person, error)
	// Tags returns the tags that a topic carries.
	Tags(topic string) []string
	// OwnTags returns the agent's, in the form of Tags.
	OwnTags() []string
	// Channels lists those that were joined.
	Channels() []string
	// Same reports whether two names are one by the server's rules.
	Same(a, b string) bool
	IsChannel(name string) bool
	// Mentioned reports whether text addresses the agent.
	Mentioned(text string) bool
	// Addresses reports whether text addresses somebody.
	Addresses(text, nick string) bool
	Close()
}

// A Hearer hears what happens on the server, one call at a time.
type Hearer interface {
	Heard(m Incoming)
	Invited(i Invitation)
	// TopicChanged tells that a channel's topic is another, or that the agent
	// has joined the channel.
	TopicChanged(channel string)
	// Arrived tells that somebody has joined a channel that the agent is in.
	Arrived()
}

// Invitation asks the agent to join a channel.
type Invitation struct {
	Channel string
	Nick    string // who invites
}

// Incoming is a message that came from the server.
type Incoming struct {
	Target  string // the channel, or the nick whom it was for
	Nick    string // who says it
	Account string // whose account, or ""
	Text    string
	At      time.Time
	ID      string // the server's, or ""
	Own     bool   // the agent said it
	Notice  bool   // said by a program, not to be answered
	Bot     bool   // says of itself that it is a program
	Missed  bool   // said while the harness was away
}
