package plan

import (
	"encoding/json"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// Version is that of a recorded State.
const Version = 1

// State is what is known of a tick. It is recorded as JSON before the actions
// that follow from it are performed.
type State struct {
	V      int       `json:"v"`
	Tick   int       `json:"tick"`
	Began  time.Time `json:"began"`
	Causes []Cause   `json:"causes,omitempty"`
	Limits Limits    `json:"limits"`
	Query  string    `json:"query,omitempty"` // the first prompt

	Stage   Stage         `json:"stage"`
	Elapsed time.Duration `json:"elapsed_ns"` // since the tick began, at the last event
	// Hooks are those that were started in this stage. None is started twice,
	// also after a kill.
	Hooks []string `json:"hooks,omitempty"`
	// Warning is what was wrong with the container, for the agent; or "".
	Warning string `json:"warning,omitempty"`

	Session string `json:"session,omitempty"` // the vendor's id, for going on after a failure
	Open    bool   `json:"open,omitempty"`    // a session is open
	Turn    Turn   `json:"turn,omitzero"`     // the running one, or the last
	Turns   int    `json:"turns,omitempty"`   // prompts that were sent
	Replies int    `json:"replies,omitempty"` // of the model
	Rounds  int    `json:"rounds,omitempty"`  // of end conditions that were not met
	Retries int    `json:"retries,omitempty"` // in a row
	// Until is when a failed attempt is made good, in the stage Waiting.
	Until time.Duration `json:"until_ns,omitempty"`

	CostUSD  float64  `json:"cost_usd,omitempty"`
	Context  Context  `json:"context,omitzero"`
	LastText string   `json:"last_text,omitempty"` // of the agent; clipped
	WrapUp   string   `json:"wrap_up,omitempty"`   // why the agent was told to finish, or ""
	Notices  []Notice `json:"notices,omitempty"`
	// Acknowledged says that the causes were, because the agent has the first
	// prompt.
	Acknowledged bool `json:"acknowledged,omitempty"`

	Outcome Outcome `json:"outcome,omitzero"` // zero until the tick is to end

	// next is the prompt that is sent when the session is open. It is not
	// recorded: a tick whose process was killed sends nothing more.
	next string
}

// Turn is one prompt and what the agent does about it.
type Turn struct {
	Number int `json:"number,omitempty"` // from 1; late events name an older one
	// Worked says that the agent did something: its prompt must not be sent
	// again as it was.
	Worked bool          `json:"worked,omitempty"`
	Active time.Duration `json:"active_ns,omitempty"` // when something last came
	Silent bool          `json:"silent,omitempty"`    // it is interrupted because nothing came
	// CostUSD is what the turn has cost so far, where that is told. It is in the
	// tick's cost when the turn is over.
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Context is how much of the model's window is in use.
type Context struct {
	Tokens int64 `json:"tokens,omitempty"`
	Window int64 `json:"window,omitempty"` // of the model, as it was told; else 0
}

// Cause is why a tick was begun.
type Cause struct {
	Kind   CauseKind `json:"kind"`
	ID     string    `json:"id,omitempty"` // for acknowledging it
	Reason string    `json:"reason,omitempty"`
}

// CauseKind says what began a tick. The values are stored: add, never rename.
type CauseKind string

// The kinds of causes.
const (
	ByTrigger      CauseKind = "trigger"
	ByWake         CauseKind = "wake"
	ByNotification CauseKind = "notification"
	ByHand         CauseKind = "hand"
)

// Stage is how far a tick has come. The values are stored: add, never rename.
type Stage string

// The stages, in order. Waiting, Opening, Turning and Checking alternate.
const (
	New       Stage = ""
	Beginning Stage = "beginning"
	Preparing Stage = "preparing" // of the container
	PreTick   Stage = "pre-tick"
	Opening   Stage = "opening"
	Turning   Stage = "turning"
	Waiting   Stage = "waiting" // before another attempt
	Checking  Stage = "checking"
	Stopping  Stage = "stopping" // the turn that runs is interrupted
	Closing   Stage = "closing"
	Finishing Stage = "finishing" // transcript and state
	PostTick  Stage = "post-tick"
	Pushing   Stage = "pushing"
	Cleaning  Stage = "cleaning"
	Done      Stage = "done"
)

var stages = []Stage{New, Beginning, Preparing, PreTick, Opening, Turning, Waiting, Checking, Stopping, Closing, Finishing, PostTick, Pushing, Cleaning, Done}

// ending reports whether it is decided how the tick ends.
func (s State) ending() bool { return s.Outcome.Reason != "" }

// Encode is the state as it is recorded.
func (s State) Encode() ([]byte, error) {
	s.V = Version
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// Decode reads a recorded state.
func Decode(data []byte) (State, error) {
	s, err := statefile.Decode[State]("the record of a tick", data, Version)
	if err != nil {
		return s, err
	}
	if s.V < 1 || !slices.Contains(stages, s.Stage) || s.Tick < 0 {
		return s, fault.Errorf(fault.Storage, "the record of a tick: %w: stage '%s', tick %d, version %d", statefile.ErrDamaged, s.Stage, s.Tick, s.V)
	}
	return s, nil
}

// Same reports whether two states need not be recorded separately: they differ
// in times only.
func (s State) Same(other State) bool {
	s.Elapsed, other.Elapsed = 0, 0
	s.Turn.Active, other.Turn.Active = 0, 0
	a, errA := s.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && string(a) == string(b)
}

func (s State) clone() State {
	s.Causes, s.Hooks, s.Notices = slices.Clone(s.Causes), slices.Clone(s.Hooks), slices.Clone(s.Notices)
	return s
}

// Outcome is how a tick ended.
type Outcome struct {
	Reason Reason `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"` // for people
	// Advice is what a person has to do before ticks make sense again; "" where
	// the next tick may begin by itself. Where there is one, ticks are paused.
	Advice string `json:"advice,omitempty"`
	// Rest is how long the vendor said that nothing should be tried.
	Rest time.Duration `json:"rest_ns,omitempty"`
}

// Reason classes the end of a tick. The values are stored and sent: add, never
// rename.
type Reason string

// The reasons.
const (
	Normal      Reason = "normal"
	Fatal       Reason = "fatal"             // a person has to do something
	Limit       Reason = "limit"             // of time, turns, cost or rounds
	ContextFull Reason = "context"           // of the model
	Interrupted Reason = "interrupted"       // by a person or a signal
	Exhausted   Reason = "retries-exhausted" // the vendor, or the runner, kept failing
	Unprepared  Reason = "unprepared"        // the container could not be made
	Crashed     Reason = "crashed"           // den was killed, or could not go on
)

// The values of the status that hooks are told.
const (
	StatusNormal   = "normal"
	StatusAbnormal = "abnormal"
)

// Status is the outcome as hooks know it.
func (o Outcome) Status() string {
	if o.Reason == Normal {
		return StatusNormal
	}
	return StatusAbnormal
}

// Pauses reports whether no tick may begin until a person says so.
func (o Outcome) Pauses() bool { return o.Reason == Fatal }

// String is for people.
func (o Outcome) String() string {
	if o.Why == "" {
		return string(o.Reason)
	}
	return string(o.Reason) + ": " + o.Why
}

// Event is something that happened.
type Event struct {
	Kind    EventKind
	Elapsed time.Duration // since the tick began

	Hook    Hook   // of HookStarted and HooksEnded
	Name    string // of HookStarted: the script
	Problem string // of Prepared: what is wrong; of Stop and Broken: why
	// Unusable, of Prepared and OpenFailed, is that no other attempt would do
	// better.
	Unusable bool
	Session  string   // of Opened: the vendor's id; of turns where it is known later
	Turn     int      // of what happens within a turn: its number
	Text     string   // of Spoke and TurnEnded: what the agent said
	Tokens   int64    // of Used: the size of the context now, 0 where it is not told
	Window   int64    // of Used: that of the model, 0 where it is not told
	CostUSD  float64  // of TurnEnded and TurnFailed: of the turn; of Used: of the turn so far
	Gone     bool     // of TurnFailed: the session is over
	Notices  []Notice // of Notified
	Call     string   // of Answering: the call of a tool
	// Certain, of Replied, is that this is no further part of the reply before:
	// the model has all that tools had answered to that one.
	Certain bool
	Check   Check // of Checked
	Failure *Failure
}

// EventKind says what happened.
type EventKind string

// The kinds of events. The first group answers actions, each exactly one; the
// second comes at any time.
const (
	Start      EventKind = "start"    // the tick is to be begun
	Begun      EventKind = "begun"    // answers Begin
	Prepared   EventKind = "prepared" // answers Prepare
	HooksEnded EventKind = "hooks-ended"
	Opened     EventKind = "opened" // Opened or OpenFailed answer Open
	OpenFailed EventKind = "open-failed"
	TurnEnded  EventKind = "turn-ended" // TurnEnded or TurnFailed answer Prompt
	TurnFailed EventKind = "turn-failed"
	Checked    EventKind = "checked"  // answers CheckEnd
	Closed     EventKind = "closed"   // answers Close
	Finished   EventKind = "finished" // answers Finish
	Pushed     EventKind = "pushed"   // answers Push
	Cleaned    EventKind = "cleaned"  // answers Clean

	HookStarted EventKind = "hook-started" // comes before the script is
	Accepted    EventKind = "accepted"     // the agent's program has the prompt
	Replied     EventKind = "replied"      // the model began another reply, of which the next two are parts
	Spoke       EventKind = "spoke"        // or thought
	Worked      EventKind = "worked"       // used a tool
	Active      EventKind = "active"       // wrote something, whatever it is
	Used        EventKind = "used"
	Compacting  EventKind = "compacting" // the agent is about to shorten its context
	SessionGone EventKind = "session-gone"
	Notified    EventKind = "notified"
	Answering   EventKind = "answering" // a tool's answer can carry notices to the agent
	Passed      EventKind = "passed"    // the time that Due told has come
	Stop        EventKind = "stop"      // somebody ends the tick
	Broken      EventKind = "broken"    // whoever performs the actions cannot go on
)

// Hook names a directory of hooks. The values are those of the data repository.
type Hook string

// The hooks that are run by an action of their own. Those before the end of the
// tick are a part of CheckEnd.
const (
	HookPreTick  Hook = "pre-tick"
	HookPostTick Hook = "post-tick"
)

// Check is what may keep a tick from ending.
type Check struct {
	LoggedIn bool
	Live     []int    // terminals whose programs run
	Issues   []string // of the hooks before the end
}

// Action is something to be done. An action that an event answers may take long
// and must not keep other events from being taken; the others are done at once,
// in order.
type Action struct {
	Kind ActionKind

	Hook    Hook     // of RunHooks
	Skip    []string // of RunHooks: scripts that were started before a kill
	Resume  string   // of Open: the session to go on with, "" for a new one
	Turn    int      // of Prompt and Interrupt: the turn's number
	Text    string   // of Prompt
	Call    string   // of Tell: whose answer carries the notices
	Notices []Notice // of Tell and AckNotices
	More    bool     // of Tell: there is more to tell than one answer carries
	Causes  []Cause  // of AckCauses
}

// ActionKind says what is to be done.
type ActionKind string

// The kinds of actions.
const (
	Begin    ActionKind = "begin"   // count the tick in the data repository
	Prepare  ActionKind = "prepare" // the container
	RunHooks ActionKind = "run-hooks"
	Open     ActionKind = "open" // start the runner and a session
	Prompt   ActionKind = "prompt"
	CheckEnd ActionKind = "check-end" // gather a Check; no hooks where nobody is logged in
	// Close ends whatever runs for the tick, the session and the terminals,
	// and is done when all of it has ended.
	Close  ActionKind = "close"
	Finish ActionKind = "finish" // transcript, state, and the pause file where the outcome wants it
	Push   ActionKind = "push"
	Clean  ActionKind = "clean" // what only this tick needed

	// No event answers these.
	Interrupt   ActionKind = "interrupt"    // end the turn: it is asked to end, and aborted if it does not
	DropSession ActionKind = "drop-session" // end the runner, not the tick
	RouseWait   ActionKind = "rouse-wait"   // have a tool that waits return, now or when it begins to, until all is told
	Tell        ActionKind = "tell"         // let a tool answer, with notices
	AckNotices  ActionKind = "ack-notices"
	AckCauses   ActionKind = "ack-causes" // doing it again does nothing
)
