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

	"den/internal/fault"
	"den/internal/filelock"
	"den/internal/wire"
)

// Client speaks with one keeper. It is for one goroutine at a time.
type Client struct {
	conn  *wire.Conn
	state StateDir
}

// Dial reaches the workspace's keeper: fault.NotRunning where there is none.
func (s StateDir) Dial(ctx context.Context, version string) (*Client, error) {
	r, err := s.Load()
	if err != nil {
		return nil, err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "unix", r.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, noKeeper(s)
	case err != nil:
		return nil, fault.Errorf(fault.Unreachable, "reach the keeper of %s: %w", s.Config, err)
	}
	c := &Client{conn: wire.NewConn(raw, wire.MaxResponse), state: s}
	if err := c.hello(version); err != nil {
		raw.Close()
		if fault.KindOf(err) == fault.Unreachable && ctx.Err() == nil && c.gone() {
			return nil, noKeeper(s) // it was killed, or ended, when we came
		}
		return nil, err
	}
	if err := s.checkKeeper(r); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
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

func (c *Client) hello(version string) error {
	if err := c.conn.Raw().SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	sent := c.conn.Write(wire.Hello{V: Version, Den: version})
	var theirs hello
	if err := c.conn.Read(&theirs); err != nil {
		return fault.Errorf(fault.Unreachable, "the keeper does not answer: %w", errors.Join(sent, err))
	}
	switch {
	case theirs.Error != nil:
		return theirs.Error.Err()
	case sent != nil:
		return sent
	case theirs.V != Version:
		return fault.Hintf(fault.Errorf(fault.Protocol, "the keeper (den %s) speaks protocol %d, this den speaks %d", theirs.Den, theirs.V, Version), "'den down' and 'den up' with one den")
	}
	return c.conn.Raw().SetDeadline(time.Time{})
}

// Close ends the connection, and with it what it was asked for.
func (c *Client) Close() error { return c.conn.Close() }

// Call asks for one thing and decodes the answer into result, unless nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.ask(ctx, method, params, func(r wire.Response) error {
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	})
}

// Stream asks for one thing and calls each with every part of the answer.
func (c *Client) Stream(ctx context.Context, method string, params any, each func(json.RawMessage) error) error {
	return c.ask(ctx, method, params, func(r wire.Response) error {
		if !r.Stream {
			return nil
		}
		return each(r.Result)
	})
}

func (c *Client) ask(ctx context.Context, method string, params any, take func(wire.Response) error) error {
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if err := c.conn.Write(wire.Request{Method: method, Params: raw}); err != nil {
		return c.lost(ctx, method, err)
	}
	for {
		var r wire.Response
		if err := c.conn.Read(&r); err != nil {
			return c.lost(ctx, method, err)
		}
		if r.Error != nil {
			return r.Error.Err()
		}
		if err := take(r); err != nil {
			return err
		}
		if !r.Stream {
			return nil
		}
	}
}

func (c *Client) lost(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// One that was on its way out when we came is no keeper. Who asked it to end
	// its agents cannot know whether it did, and must look after them.
	if c.gone() {
		return noKeeper(c.state)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "ask the keeper for %s: %w", method, err), "'den ps' tells whether it still runs")
}

// How often, and with what pause, a keeper that hung up is called again.
const (
	goneTries = 20
	gonePause = 5 * time.Millisecond
)

// gone reports whether nobody listens any more.
func (c *Client) gone() bool {
	r, err := c.state.Load()
	if err != nil {
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
