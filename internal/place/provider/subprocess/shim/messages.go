package shim

import "time"

// Protocol is the version of the messages below, in the hello of each side.
// It changes when an old peer would misunderstand a new one; added fields and
// methods do not change it.
const Protocol = 1

// The methods of a shim's socket.
const (
	MethodPeek      = "peek"
	MethodNudge     = "nudge"
	MethodInterrupt = "interrupt"
	MethodStop      = "stop"
	MethodClear     = "clear"
	MethodActivity  = "activity"
	MethodAlive     = "alive"
	MethodUnread    = "unread"
)

// Peek asks for the last lines of the output; 0 means all that is kept.
type Peek struct {
	Lines int `json:"lines"`
}

// Peeked is its answer.
type Peeked struct {
	Text string `json:"text"`
}

// Nudge is a line for the command. It is bytes, not a string: JSON would
// mend what is not UTF-8.
type Nudge struct {
	Text []byte `json:"text"`
}

// Unread tells how many bytes the command has been given and has not read.
type Unread struct {
	Bytes int `json:"bytes"`
}

// Stop ends the session.
type Stop struct {
	Grace time.Duration `json:"grace_ns"` // before what does not end is killed
}

// Activity tells when the command last wrote something: when it was started
// where it never did.
type Activity struct {
	Last time.Time `json:"last"`
}

// Alive asks whether a process bears one of the names.
type Alive struct {
	Names []string `json:"names"`
}

// AliveAnswer is its answer.
type AliveAnswer struct {
	Alive bool `json:"alive"`
}
