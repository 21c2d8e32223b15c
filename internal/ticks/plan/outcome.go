package plan

import "time"

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
