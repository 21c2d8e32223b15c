package agent

import (
	"context"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/protocol"
	"den/internal/agent/conversation/screen"
)

// A Conversation is how den talks with an agent: on its screen, or by its
// protocol with the harness that drives it. Its methods may be called
// concurrently.
type Conversation interface {
	// Keep puts a message on disk, where it survives a crash, and returns how far
	// it has come. The same id again is the same message; without one it is made.
	Keep(ctx context.Context, m conversation.Message) (outbox.Message, error)
	// Deliver returns when the outcome of a message that is kept is known. If the
	// context ends before, the message stays queued.
	Deliver(ctx context.Context, id string) (outbox.Message, error)
	// Ask keeps a message and returns the answer, once Run has handed it over and
	// the turn is over.
	Ask(ctx context.Context, m conversation.Message, o conversation.AskOptions) (conversation.Answer, error)
	// Answer decides an open question by one of its options. A question that is
	// no longer open is fault.NotFound, and nothing is pressed or sent.
	Answer(ctx context.Context, question, option, by string) error
	// State is what the agent does now, and LastState what it did when Run looked
	// last. Ready reports whether it waits for input, false where that cannot be
	// known.
	State(ctx context.Context) (conversation.State, error)
	LastState() conversation.State
	Ready(ctx context.Context) bool
	// Run hands over what is kept, now and later, and tells of every change of
	// the state, until the context ends. Its owner runs it in a goroutine of its
	// own.
	Run(ctx context.Context) error
}

var (
	_ Conversation = (*screen.Conversation)(nil)
	_ Conversation = (*protocol.Conversation)(nil)
)
