package plan

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
