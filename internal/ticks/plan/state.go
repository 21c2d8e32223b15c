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

	next prompt // what is sent when the session is open
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
