package shim

import (
	"context"

	"den/internal/base/fault"
	"den/internal/base/rpc"

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
		alive, err := anyNamed(s.tree.Processes(), a.Names)
		return AliveAnswer{Alive: alive}, err
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the shim (den %s) does not know the method %q", s.version, req.Method),
		"it was started by an older den: start the session anew")
}
