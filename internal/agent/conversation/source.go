package conversation

import "context"

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

// A Mailbox is a Sender that keeps messages for the agent: it takes them
// whatever the agent does, and the agent gets them in order.
type Mailbox interface {
	Sender
	KeepsMessages()
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
