package shim

import (
	"context"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider/procname"

	"golang.org/x/sys/unix"
)

// handle answers one request. Nothing that is asked ends with its caller.
func (s *shim) handle(_ context.Context, req *rpc.Call) (any, error) {
	s.activity.Note() // answering needs memory too
	switch req.Method {
	case MethodPeek:
		var p Peek
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return Peeked{Text: s.output.peek(p.Lines)}, nil
	case MethodNudge:
		var n Nudge
		if err := req.Decode(&n); err != nil {
			return nil, err
		}
		return struct{}{}, s.input.put(append(n.Text, '\n'))
	case MethodUnread:
		n, err := s.input.unread()
		return Unread{Bytes: n}, err
	case MethodInterrupt:
		return struct{}{}, s.tree.SignalGroup(unix.SIGINT) // Ctrl-C without a terminal
	case MethodStop:
		var p Stop
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return struct{}{}, s.stop(p.Grace)
	case MethodClear:
		return struct{}{}, s.output.clear(s.boot.Rows)
	case MethodActivity:
		return Activity{Last: s.output.lastActive()}, nil
	case MethodAlive:
		var a Alive
		if err := req.Decode(&a); err != nil {
			return nil, err
		}
		alive, err := procname.AnyBears(s.tree.Processes(), a.Names)
		return AliveAnswer{Alive: alive}, err
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the shim (den %s) does not know the method %q", s.version, req.Method),
		"it was started by an older den: start the session anew")
}

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
