package runner

import (
	"context"

	"den/internal/agent/conversation"
	"den/internal/agent/permission"
)

// A Driver speaks one vendor's protocol.
type Driver interface {
	// Name is the backend's: "claude", "codex", "copilot", "acp", "script".
	Name() string
	// Open spawns the agent, shakes hands and makes a session, or resumes the
	// one that o names. An error that the protocol explains is a *Failure.
	// Nothing of the process is left after an error. The context bounds
	// opening only.
	Open(ctx context.Context, o Options) (Session, error)
}

// CompactPrompt is the prompt that has an agent shorten what it remembers of
// the conversation. Only sessions of a Compacter take it as that.
const CompactPrompt = "/compact"

// A Compacter is a Driver whose sessions know CompactPrompt.
type Compacter interface{ Compacts() }

// Options are what a session is opened with.
type Options struct {
	Spawn Spawner // where and how processes are started

	Command      []string          // "" for the driver's own: "claude", "codex", …
	Dir          string            // the agent's directory, absolute
	Env          map[string]string // the agent's own variables
	Model        string            // or "" for the agent's default
	Thinking     string            // how hard to think, where the protocol has it
	SystemPrompt string            // added to the agent's own; drivers without a way put it before the first prompt
	Extra        map[string]string // of the vendor, from the workspace file's options

	// Servers are tools that the agent gets beside its own, by the Model Context
	// Protocol. With them it gets none that its own settings name, where it can
	// be told so.
	Servers []ToolServer
	// Without are kinds of tools that the agent must not have, where it can be
	// told so. What is left of them is asked for.
	Without []permission.Kind
	// OnlyPrompt has SystemPrompt replace the agent's own, where the protocol
	// can do that.
	OnlyPrompt bool
	// KeepWhole has the agent not shorten the conversation by itself, where it
	// can be told so. It tells Compacting when it is about to.
	KeepWhole bool

	// Resume is the id of the session to go on with, "" for a new one. A
	// session that the agent no longer has is a Failure with NoSession.
	Resume string

	// Ask decides what the agent asks permission for. It may take long: the
	// agent waits. Its context ends when the question is withdrawn or the
	// turn ends. Never nil.
	Ask func(ctx context.Context, r permission.Request) permission.Decision

	// Check tells at once whether rules forbid something that the agent would
	// do without asking: permission.Deny, permission.Ask for what has to be asked
	// for, or "", and why. Drivers whose agents tell of every use of a tool before
	// it happens call it for each. Or nil.
	Check func(r permission.Request) (outcome permission.Outcome, why string)

	// Log takes what is worth a line in a log: lines of stderr, things that
	// the protocol sent and nobody knows. Never nil; never blocks.
	Log func(line string)
}

// A ToolServer is a process that offers tools by the Model Context Protocol on
// its standard input and output. The agent starts it. Everybody on the machine
// may see how: it has no secrets.
type ToolServer struct {
	Name    string
	Command []string
	Env     map[string]string
}

// A Session is an open conversation with a running agent. One goroutine at a
// time calls Turn; the other methods may be called meanwhile.
type Session interface {
	// ID is the session's, for resuming it. It may come with the first turn.
	ID() string

	// Turn hands over a prompt, calls each with what happens, in order, from
	// one goroutine, and returns when the turn is over. A turn that the agent
	// could not finish is a *Failure. If the context ends, Turn returns at
	// once with its error, and the session can only be closed. each returns
	// quickly.
	Turn(ctx context.Context, prompt string, each func(Event)) (Result, error)

	// Interrupt asks the agent to end its turn, and returns when that was
	// written. The Turn then returns by itself, with Result.Cancelled.
	Interrupt(ctx context.Context) error

	// Done is closed when the agent's process has ended, whoever ended it.
	Done() <-chan struct{}

	// Close ends the agent: by closing its input, by a signal, by killing its
	// process group, each bounded, and returns when it is gone. Closing again
	// returns the same.
	Close() Exit
}

// A Witness is a Session that sees signs of life beside the agent's own output:
// what the commands print that den runs for it.
type Witness interface {
	// Signs is a value that stays the same while there are none.
	Signs() string
}

// Event is what happens within a turn.
type Event struct {
	Kind    EventKind
	Message *Message  // of Spoke: what the agent said, thought or used
	Result  *ToolDone // of ToolFinished
	Usage   *Usage    // of Used: of the turn until now
	Size    *Size     // of Sized
	Failure *Failure  // of Retrying: why the agent tries again by itself
	Text    string    // of Partial: a piece of text that a later Spoke repeats whole; of Noted
	// Reply, of Spoke, is the same for all parts of one reply of the agent's own
	// model, and of no other; "" where the backend does not tell.
	Reply string
}

// EventKind is what an Event tells.
type EventKind string

// The kinds of events.
const (
	Accepted     EventKind = "accepted" // the agent itself shows that it has the prompt
	Partial      EventKind = "partial"
	Spoke        EventKind = "message"
	ToolFinished EventKind = "tool_finished"
	Used         EventKind = "usage"
	Retrying     EventKind = "retrying"
	Noted        EventKind = "note" // worth a line to a person: compaction, model fallback
	Sized        EventKind = "context"
	Compacting   EventKind = "compacting" // the agent is about to shorten the conversation
)

// Result is how a turn ended.
type Result struct {
	Text      string // the agent's last words
	Cancelled bool
	Usage     Usage // of the whole turn; zero where the protocol does not tell
}

// ToolDone is the end of a tool's use.
type ToolDone struct {
	ID     string // that of the ToolUse block
	Failed bool   // also when it was denied
	Denied bool
	Output string // bounded; see Clip
}

// Usage counts what was used.
type Usage = conversation.Usage

// Size is how much of the model's context is in use, as far as it is told.
type Size struct {
	Tokens int64 `json:"tokens,omitempty"` // now; 0 where it is not told
	Window int64 `json:"window,omitempty"` // that fit; 0 where it is not told
}

// Exit is how an agent's process ended.
type Exit struct {
	Code   int    // 128 and the signal's number where a signal ended it
	Reason string // for people: the last lines of stderr, or how it was ended
}
