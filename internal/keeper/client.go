package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/poll"
	"den/internal/base/rpc"
	"den/internal/session/home"
)

// Client speaks with one keeper. It is for one goroutine at a time.
type Client struct {
	*rpc.Client
	state  StateDir
	record Record // the keeper's
}

// Dial reaches the workspace's keeper: fault.NotRunning where there is none.
func (s StateDir) Dial(ctx context.Context, version string) (*Client, error) {
	r, err := s.Load()
	if err != nil {
		return nil, err
	}
	if err := s.checkSocket(r); err != nil {
		return nil, err
	}
	c, err := rpc.Dial(ctx, rpc.Unix(r.Socket), rpc.Target{
		Version: Version, Den: version, Name: "the keeper", Hint: "'den down' and 'den up' with one den",
	})
	var refused *fault.Error
	switch {
	case err == nil:
		if err := s.checkKeeper(r); err != nil {
			c.Close() // Best effort: nothing was asked.
			return nil, err
		}
		return &Client{Client: c, state: s, record: r}, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, noKeeper(s)
	case errors.As(err, &refused), ctx.Err() != nil: // its own words, or nobody waits for them
		return nil, err
	case rpc.IsBroken(err) && s.gone():
		return nil, noKeeper(s) // it was killed, or ended, when we came
	}
	return nil, fault.Errorf(fault.Unreachable, "reach the keeper of %s: %w", s.Config, err)
}

// checkSocket refuses a record that names another socket than that of the
// workspace's keeper. The name is computed from the workspace's identity; only
// the run directory is the record's.
func (s StateDir) checkSocket(r Record) error {
	i, err := readIdentity(s.Path)
	if fault.KindOf(err) == fault.NotFound {
		return noKeeper(s) // a keeper makes it before it listens
	}
	if err != nil {
		return err
	}
	err = home.CheckRunPath(r.Socket)
	if err == nil && filepath.Base(r.Socket) != home.RunName(i.socketKey()) {
		err = fault.Errorf(fault.Denied, "the recorded socket %q is not its own", r.Socket)
	}
	if err != nil {
		return fault.Hintf(fmt.Errorf("reach the keeper of %s: %w", s.Config, err), "'den down' and 'den up' with one den, or remove %s if you do not know it", s.record())
	}
	return nil
}

// checkKeeper refuses a keeper that answers but is not this workspace's: the
// record may be a copy of another's, or be about another file in the same
// directory.
func (s StateDir) checkKeeper(r Record) error {
	held, err := filelock.Held(s.lock())
	switch {
	case err != nil:
		return fault.Errorf(fault.KindOf(err), "ask whether %s has a keeper: %w", s.Config, err)
	case !held:
		return noKeeper(s)
	case r.File != "" && r.File != filepath.Base(s.Config):
		return fault.Hintf(fault.Errorf(fault.Busy, "the keeper of %s keeps %s, not %s", filepath.Dir(s.Config), r.File, filepath.Base(s.Config)),
			"'den down -f %s' ends it", filepath.Join(filepath.Dir(s.Config), r.File))
	}
	return nil
}

// Call asks for one thing and decodes the answer into result, unless nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.explain(method, c.Client.Call(ctx, method, params, result))
}

// Perform is Call of something that the keeper finishes whoever waits for it.
// begun is called when the keeper tells that it has begun, which one of an older
// den does not for every method.
func (c *Client) Perform(ctx context.Context, method string, params, result any, begun func()) error {
	return c.explain(method, c.Client.Stream(ctx, method, params, func(part json.RawMessage, last bool) error {
		switch {
		case !last:
			begun()
			return nil
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(part, result); err != nil {
			return fault.Errorf(fault.Protocol, "answer to %s is not understood: %w", method, err)
		}
		return nil
	}))
}

// Stream asks for one thing and calls each with every part of the answer but
// the last, which only says that there are no more.
func (c *Client) Stream(ctx context.Context, method string, params any, each func(json.RawMessage) error) error {
	return c.explain(method, c.Client.Stream(ctx, method, params, func(part json.RawMessage, last bool) error {
		if last {
			return nil
		}
		return each(part)
	}))
}

// explain says why a connection ended in the middle.
func (c *Client) explain(method string, err error) error {
	if !rpc.IsBroken(err) {
		return err
	}
	// One that was on its way out when we came is no keeper. Who asked it to end
	// its agents cannot know whether it did, and must look after them.
	if c.state.gone() {
		return noKeeper(c.state)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "ask the keeper for %s: %w", method, err), "'den ps' tells whether it still runs")
}

// AwaitEnd returns when the keeper has ended: one whose agents have all ended
// still writes down that it ends.
func (c *Client) AwaitEnd(ctx context.Context) error {
	for s := c.state; ; {
		held, err := filelock.Held(s.lock())
		if err != nil {
			return fault.Errorf(fault.KindOf(err), "ask whether %s has a keeper: %w", s.Config, err)
		}
		if now, err := s.Load(); !held || err == nil && now.PID != c.record.PID { // a next one came
			return nil
		}
		if poll.Pause(ctx, gonePause) != nil {
			return fault.Hintf(fault.Errorf(fault.Timeout, "all agents of %s have ended, but its keeper has not", s.Config), "its log is %s", s.Log())
		}
	}
}

// How often, and with what pause, a keeper that hung up is called again.
const (
	goneTries = 20
	gonePause = 5 * time.Millisecond
)

// gone reports whether nobody listens any more.
func (s StateDir) gone() bool {
	r, err := s.Load()
	if err != nil || s.checkSocket(r) != nil {
		return false
	}
	for range goneTries {
		again, err := net.Dial("unix", r.Socket)
		if err != nil {
			return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
		}
		again.Close() // Best effort: nothing was said.
		time.Sleep(gonePause)
	}
	return false
}
