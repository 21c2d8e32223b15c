package plan

import "time"

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
	Outcome Outcome  // of Finish
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
