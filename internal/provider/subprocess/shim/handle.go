package shim

import (
	"encoding/json"

	"den/internal/fault"
	"den/internal/wire"
)

// handle answers one request. What it returns becomes JSON.
func (s *shim) handle(req wire.Request) (any, error) {
	switch req.Method {
	case MethodPeek:
		var p Peek
		if err := params(req, &p); err != nil {
			return nil, err
		}
		return Peeked{Text: s.output.peek(p.Lines)}, nil
	case MethodNudge:
		var n Nudge
		if err := params(req, &n); err != nil {
			return nil, err
		}
		return struct{}{}, s.input.put(append(n.Text, '\n'))
	case MethodInterrupt:
		return struct{}{}, s.proc.interrupt()
	case MethodStop:
		var p Stop
		if err := params(req, &p); err != nil {
			return nil, err
		}
		return struct{}{}, s.stop(p.Grace)
	case MethodClear:
		return struct{}{}, s.output.clear(s.boot.Rows)
	case MethodActivity:
		return Activity{Last: s.output.lastActive()}, nil
	case MethodAlive:
		var a Alive
		if err := params(req, &a); err != nil {
			return nil, err
		}
		alive, err := anyNamed(s.proc.tree(), a.Names)
		return AliveAnswer{Alive: alive}, err
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the shim (den %s) does not know the method %q", s.version, req.Method),
		"it was started by an older den: start the session anew")
}

func params(req wire.Request, v any) error {
	if err := json.Unmarshal(req.Params, v); err != nil {
		return fault.Errorf(fault.Protocol, "parameters of %s are not understood: %w", req.Method, err)
	}
	return nil
}
