package subprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/supervise"
	"den/internal/session/home"
)

// answerLimit bounds how long it may take to answer. Nothing that is asked
// waits for the command, but for Stop.
const answerLimit = 10 * time.Second

// patience is how long an answer may take. A stop may meet another that has
// begun, and each of them may have to kill.
func (p *Provider) patience(method string) time.Duration {
	if method == shim.MethodStop {
		return answerLimit + 2*(p.grace+supervise.KillLimit)
	}
	return answerLimit
}

// call asks a session's shim for one thing and decodes the answer into
// result, unless nil. A session that has ended is fault.NotRunning, a shim
// that does not answer in time fault.Unreachable. An error after the shim was
// asked, and before it answered, wraps provider.ErrUnanswered.
func (p *Provider) call(ctx context.Context, s *state, method string, params, result any) error {
	limited, cancel := context.WithTimeout(ctx, p.patience(method))
	defer cancel()
	if err := home.CheckRunPath(s.record.Socket); err != nil {
		return fault.Errorf(fault.Unreachable, "reach the shim of session '%s': %w", s.record.Name, err)
	}
	c, err := rpc.Dial(limited, rpc.Unix(s.record.Socket), rpc.Target{
		Version: shim.Protocol, Den: p.version, ID: s.record.ID,
		Name: fmt.Sprintf("the shim of session '%s'", s.record.Name),
		Hint: "stop the session and start it anew, or use the den that started it",
	})
	if err != nil {
		return p.broken(ctx, s, err)
	}
	defer c.Close() // Best effort: the answer is here, or will not come.
	err = c.Call(limited, method, params, result)
	var answered *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return fault.Errorf(fault.KindOf(err), "session '%s': %w", s.record.Name, err)
	}
	return fmt.Errorf("%w: %w", p.broken(ctx, s, err), provider.ErrUnanswered)
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
