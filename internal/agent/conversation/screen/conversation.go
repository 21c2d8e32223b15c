package screen

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/place/provider"
)

// Options makes a Conversation.
type Options struct {
	Agent    string // its name, for messages to people
	Session  string
	Provider provider.Provider
	Queue    *outbox.Queue
	Hints    Hints
	Timing   Timing

	// Source knows what the agent does better than its screen; or nil.
	Source conversation.Source
	// OnState is called by Run with every change of the agent's state, one
	// call at a time; or nil.
	OnState func(conversation.State)

	// Ended returns an error that says how the program ended, nil while it runs.
	Ended func(ctx context.Context) error
	// StartCutOff reports whether an earlier process began the session's start
	// and did not finish it.
	StartCutOff func(ctx context.Context) bool
	// Life differs between two starts of the session, "" where that is not known.
	Life  func(ctx context.Context) string
	Clock func() time.Time
}

// Hints is what is known of the program.
type Hints struct {
	Vendor      string        // whose screen it draws: the name of a preset, or ""
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
	Confirm  time.Duration // for evidence that it was taken; 5 s
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
	agent       string
	session     string
	provider    provider.Provider
	terminal    provider.OnTerminal // the provider, if its sessions have terminals; or nil
	looker      provider.Looker     // the provider, if it types only at what was seen; or nil
	queue       *outbox.Queue
	hints       Hints
	profile     *profile
	timing      Timing
	source      conversation.Source // or nil
	onState     func(conversation.State)
	ended       func(context.Context) error
	startCutOff func(context.Context) bool
	life        func(context.Context) string
	clock       func() time.Time
	up          wake.Signal   // room for one token: a start is over
	settling    wake.Signal   // likewise, for who follows the state
	asking      chan struct{} // holds one token: whoever has it waits for a reply
	submitted   wake.Signal   // room for one token: a plain program has read a message
	adopted     atomic.Bool   // no start was cut off by the end of an earlier process
	mustType    atomic.Bool   // the source could not send the last message

	mu sync.Mutex // guards the fields below
	// composerHints are what the program wrote into its empty composer.
	composerHints []string
	prompts       []string           // left of the cursor when nobody had typed, the newest last
	state         conversation.State // as Run last saw it
	whole         seen               // the last question that its source told in part, as the screen showed it
	before        screenBefore       // of the message that was typed last

	leftAlone string // the screen whose dialog the start would not answer; the start's own
}

// New makes a conversation. It starts nothing.
func New(o Options) *Conversation {
	c := &Conversation{
		agent: o.Agent, session: o.Session, provider: o.Provider, queue: o.Queue, hints: o.Hints, profile: profileOf(o.Hints.Vendor),
		timing: o.Timing.withDefaults(), source: o.Source, onState: o.OnState, ended: o.Ended, startCutOff: o.StartCutOff, life: o.Life, clock: o.Clock,
		up: wake.New(), settling: wake.New(), asking: make(chan struct{}, 1), submitted: wake.New(),
	}
	c.terminal, _ = o.Provider.(provider.OnTerminal)
	c.looker, _ = o.Provider.(provider.Looker)
	return c
}

const isStartingNow = "it is starting"

// SetStarting tells that the agent comes up: nothing that was queued before is
// typed at it meanwhile, by this Conversation or by one that another
// configuration makes of the same agent.
func (c *Conversation) SetStarting(yes bool) {
	if yes {
		c.queue.Pause(isStartingNow)
	} else {
		c.queue.Resume()
	}
}

// IsStarting reports whether a start is under way, or was cut off by the end of
// an earlier keeper and not resumed yet.
func (c *Conversation) IsStarting(ctx context.Context) bool {
	why, managed := c.queue.Paused()
	if managed || c.adopted.Load() {
		return why != ""
	}
	c.adopted.Store(!c.startCutOff(ctx)) // what is finished stays so
	return !c.adopted.Load()
}

// LastState is the state as Run last saw it, the zero State before that.
func (c *Conversation) LastState() conversation.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Started tells that a start is over: its late dialogs are looked for.
func (c *Conversation) Started() {
	c.up.Set()
	c.settling.Set()
}

func (c *Conversation) peek(ctx context.Context, lines int) (string, error) {
	return c.provider.Peek(ctx, c.session, lines)
}

func unsupported(err error) bool { return fault.KindOf(err) == fault.Unsupported }

// maxComposerHints bounds what is remembered of composers: the oldest go.
const maxComposerHints = 16

// LearnLine remembers what the agent's line looks like while nobody has typed
// anything: a later text there is somebody's. It is called when the agent has
// come up, by Run where that was too early, and when it waits again after a
// message.
func (c *Conversation) LearnLine(ctx context.Context) {
	if c.hints.CodingAgent {
		c.noteHint(ctx)
		return
	}
	in, err := c.input(ctx)
	if err != nil || in.UnfinishedKnown || in.CursorRow == "" || rightOfCursor(in) != "" || !c.Ready(ctx) {
		return
	}
	c.learnPrompt(ctx, in.CursorRow)
}

// noteHint remembers what stands in a composer that is empty.
func (c *Conversation) noteHint(ctx context.Context) {
	screen, err := c.peek(ctx, peekLines)
	if err != nil || c.profile.asks(screen) {
		return
	}
	at := c.profile.findComposer(screen, c.hints.ReadyPrompt)
	if at == nil || at.text == "" || c.isHint(at.text) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.composerHints = append(c.composerHints, at.text)
	if len(c.composerHints) > maxComposerHints {
		c.composerHints = c.composerHints[1:]
	}
}

func (c *Conversation) isHint(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.composerHints, text)
}
