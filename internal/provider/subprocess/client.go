package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"den/internal/fault"
	"den/internal/provider/subprocess/shim"
	"den/internal/wire"
)

// helloLimit bounds how long a shim may take to say hello: it answers in
// microseconds unless the machine is out of breath.
const helloLimit = 5 * time.Second

// answerLimit bounds how long it may take to answer. Nothing that is asked
// waits for the command, but for Stop.
const answerLimit = 10 * time.Second

// patience is how long an answer may take. A stop may meet another that has
// begun, and each of them may have to kill.
func (p *Provider) patience(method string) time.Duration {
	if method == shim.MethodStop {
		return answerLimit + 2*(p.grace+killLimit)
	}
	return answerLimit
}

// call asks a session's shim for one thing and decodes the answer into
// result, unless nil. A session that has ended is fault.NotRunning, a shim
// that does not answer in time fault.Unreachable.
func (p *Provider) call(ctx context.Context, s *state, method string, params, result any) error {
	raw, err := new(net.Dialer).DialContext(ctx, "unix", s.record.Socket)
	if err != nil {
		return p.broken(ctx, s, err)
	}
	defer raw.Close() // Best effort: the answer is here, or will not come.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	conn := wire.NewConn(raw, wire.MaxResponse)
	if err := p.hello(conn, s); err != nil {
		return p.broken(ctx, s, err)
	}
	if err := raw.SetDeadline(time.Now().Add(p.patience(method))); err != nil {
		return p.broken(ctx, s, err)
	}
	if err := conn.Write(wire.Request{Method: method, Params: wire.Params(params)}); err != nil {
		return p.broken(ctx, s, err)
	}
	var resp wire.Response
	if err := conn.Read(&resp); err != nil {
		return p.broken(ctx, s, err)
	}
	if resp.Error != nil {
		err := resp.Error.Err()
		return fault.Errorf(fault.KindOf(err), "session '%s': %w", s.record.Name, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(resp.Result, result); err != nil {
		return fault.Errorf(fault.Protocol, "session '%s': answer to %s is not understood: %w", s.record.Name, method, err)
	}
	return nil
}

func (p *Provider) hello(conn *wire.Conn, s *state) error {
	if err := conn.Raw().SetDeadline(time.Now().Add(helloLimit)); err != nil {
		return err
	}
	// A shim that refuses closes at once; what it said is still to be read.
	sent := conn.Write(wire.Hello{V: shim.Protocol, Den: p.version})
	var theirs shim.Refusal
	if err := conn.Read(&theirs); err != nil {
		return errors.Join(sent, err)
	}
	switch {
	case theirs.Error != nil:
		return theirs.Error.Err()
	case sent != nil:
		return sent
	case theirs.V != shim.Protocol:
		return fault.Hintf(fault.Errorf(fault.Protocol, "the shim of session '%s' (den %s) speaks protocol %d, this den speaks %d", s.record.Name, theirs.Den, theirs.V, shim.Protocol),
			"stop the session and start it anew, or use the den that started it")
	case theirs.ID != s.record.ID:
		return fault.Errorf(fault.Unreachable, "another session answers for '%s'", s.record.Name)
	}
	return nil
}

// dying is how long a shim that broke a connection may take to end, if it
// broke it because it ends.
const dying = time.Second

// broken explains a conversation that did not come about, or ended in the
// middle: the session may have ended since it was looked at.
func (p *Provider) broken(ctx context.Context, s *state, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask session '%s': %w", s.record.Name, ctx.Err())
	}
	switch fault.KindOf(err) {
	case fault.Protocol, fault.Denied, fault.Busy: // its own word
		return err
	}
	wait, cancel := context.WithTimeout(ctx, dying)
	defer cancel()
	gone := until(wait, func() (bool, error) {
		now, err := p.inspect(s.record.Name)
		return err == nil && (!now.running() || now.record.ID != s.record.ID), err
	})
	if gone == nil || fault.KindOf(gone) == fault.NotFound {
		return notRunning(s.record.Name)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the shim of session '%s': %w", s.record.Name, err), "it lives but does not answer; Stop ends it all the same")
}

func notRunning(name string) error {
	return fault.Hintf(fault.Errorf(fault.NotRunning, "session '%s' is not running", name), "start it first; Peek shows its last text, Exit how it ended")
}
