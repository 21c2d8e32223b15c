package keeper

import "time"

// Version is that of the socket's messages.
const Version = 1

// The methods.
const (
	MethodPs      = "ps"
	MethodDown    = "down"
	MethodReload  = "reload"
	MethodOrder   = "order"
	MethodNudge   = "nudge"
	MethodPeek    = "peek"
	MethodEvents  = "events"
	MethodDrained = "drained"
)

// The orders that one agent can be given. They stand in state files: add,
// never rename.
const (
	OrderStart   = "start"
	OrderStop    = "stop"
	OrderRestart = "restart"
	OrderSuspend = "suspend"
	OrderResume  = "resume"
	OrderReset   = "reset"
)

// Agent asks for something about one agent, or about all when Name is empty
// and the method allows it.
type Agent struct {
	Name  string `json:"name"`
	Order string `json:"order,omitempty"`
	Text  string `json:"text,omitempty"`  // of a nudge
	Lines int    `json:"lines,omitempty"` // of a peek
	Wait  bool   `json:"wait,omitempty"`  // answer when it is done
}

// Ps is what a workspace wants and what is true.
type Ps struct {
	Workspace string        `json:"workspace"`
	Config    string        `json:"config"`
	Keeper    int           `json:"keeper_pid"`
	Problem   string        `json:"problem,omitempty"` // why the newest config is not in force
	Agents    []AgentStatus `json:"agents"`
}

// AgentStatus is one agent, wanted against actual.
type AgentStatus struct {
	Name     string    `json:"name"`
	Session  string    `json:"session"`
	Provider string    `json:"provider"`
	Wanted   string    `json:"wanted"`
	Actual   string    `json:"actual"`
	Why      string    `json:"why"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Nudges   int       `json:"nudges,omitempty"` // on their way
}

// What an agent can be wanted to be, and be.
const (
	Running     = "running"
	Stopped     = "stopped"
	Suspended   = "suspended"
	Starting    = "starting"
	Stopping    = "stopping"
	Quarantined = "quarantined"
	Unknown     = "unknown"
)

// Nudged answers a nudge.
type Nudged struct {
	ID     string `json:"id"`
	Status string `json:"status"` // queued, delivered or unconfirmed
	Note   string `json:"note,omitempty"`
}

// Peeked answers a peek.
type Peeked struct {
	Text string `json:"text"`
}

// EventsFrom asks for what happened after a seq, of one agent or of all.
type EventsFrom struct {
	After  uint64 `json:"after"`
	Agent  string `json:"agent,omitempty"`
	Follow bool   `json:"follow,omitempty"`
}

// Event is one thing that happened. Seq counts from 1 without a gap, over all
// keepers that the workspace ever had.
type Event struct {
	Seq    uint64         `json:"seq"`
	Time   time.Time      `json:"ts"`
	Type   string         `json:"type"`
	Agent  string         `json:"agent,omitempty"`
	Why    string         `json:"why,omitempty"`
	Detail map[string]any `json:"detail,omitempty"`
}
