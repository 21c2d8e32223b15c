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
