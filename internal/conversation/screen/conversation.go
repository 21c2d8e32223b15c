package screen

import (
	"context"
	"sync"
	"time"

	"den/internal/conversation/outbox"
	"den/internal/fault"
	"den/internal/provider"
)

// Options makes a Conversation.
type Options struct {
	Agent    string // its name, for messages to people
	Session  string
	Provider provider.Provider
	Queue    *outbox.Queue
	Hints    Hints
	Timing   Timing

	// Ended returns an error that says how the program ended, nil while it runs.
	Ended func(ctx context.Context) error
	// Life differs between two starts of the session, "" where that is not known.
	Life  func(ctx context.Context) string
	Clock func() time.Time
}

// Hints is what is known of the program.
type Hints struct {
	ReadyPrompt string        // what the line begins with where it takes input, or ""
	ReadyDelay  time.Duration // after which it is taken for ready, or 0
	// CodingAgent says that it asks questions on its screen.
	CodingAgent bool
	// PermissionDialog says that den may accept the warning of a start without
	// permission checks.
	PermissionDialog bool
	StepTimeout      time.Duration // of one step of a start
}

// Timing is how patient deliveries are; zero fields have defaults.
type Timing struct {
	Quiet    time.Duration // since a person last typed; 3 s
	Patience time.Duration // for a busy agent to take input; then it is typed all the same; 30 s
	Confirm  time.Duration // for the screen to show it; 5 s
}

func (t Timing) withDefaults() Timing {
	if t.Quiet == 0 {
		t.Quiet = 3 * time.Second
	}
	if t.Patience == 0 {
		t.Patience = 30 * time.Second
	}
	if t.Confirm == 0 {
		t.Confirm = 5 * time.Second
	}
	return t
}

// Conversation talks with one agent over its session's terminal.
type Conversation struct {
	agent    string
	session  string
	provider provider.Provider
	queue    *outbox.Queue
	hints    Hints
	timing   Timing
	ended    func(context.Context) error
	life     func(context.Context) string
	clock    func() time.Time
	up       chan struct{} // room for one token: a start is over

	mu       sync.Mutex // guards the fields below
	starting bool       // a start has begun and is not yet at its first message

	leftAlone string // the screen whose dialog the start would not answer; the start's own
}

// New makes a conversation. It starts nothing.
func New(o Options) *Conversation {
	return &Conversation{
		agent: o.Agent, session: o.Session, provider: o.Provider, queue: o.Queue, hints: o.Hints, timing: o.Timing.withDefaults(),
		ended: o.Ended, life: o.Life, clock: o.Clock, up: make(chan struct{}, 1),
	}
}

// SetStarting tells that the agent comes up: nothing that was queued before is
// typed at it meanwhile.
func (c *Conversation) SetStarting(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = yes
}

func (c *Conversation) isStarting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starting
}

// Started tells that a start is over: its late dialogs are looked for.
func (c *Conversation) Started() {
	select {
	case c.up <- struct{}{}:
	default: // it is told already
	}
}

// Asks reports whether the screen ends with something that waits for a choice.
func (c *Conversation) Asks(ctx context.Context) (bool, error) {
	if !c.hints.CodingAgent {
		return false, nil
	}
	screen, err := c.peek(ctx, peekLines)
	return err == nil && asks(screen), err
}

// Ready reports whether the agent waits for input now; false where that cannot
// be known.
func (c *Conversation) Ready(ctx context.Context) bool {
	const limit = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if prefix := c.hints.ReadyPrompt; prefix != "" {
		screen, err := c.peek(ctx, peekLines)
		return err == nil && takesTyping(screen, prefix)
	}
	r, ok := c.provider.(provider.Readier)
	return ok && r.AwaitReady(ctx, c.session) == nil
}

func (c *Conversation) peek(ctx context.Context, lines int) (string, error) {
	return c.provider.Peek(ctx, c.session, lines)
}

func unsupported(err error) bool { return fault.KindOf(err) == fault.Unsupported }
