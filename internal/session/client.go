package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"
)

// Client speaks with one session's host. It is for one goroutine at a time.
type Client struct {
	conn *wire.Conn
	dir  home.Dir
	name string
}

// A Dialer opens a connection to the host of the session with this record. It
// need not be a Unix socket of this machine.
type Dialer func(ctx context.Context, m *home.Manifest) (net.Conn, error)

// dialSocket is the Dialer for hosts of this machine.
func dialSocket(ctx context.Context, m *home.Manifest) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", m.Socket)
}

// dialTimeout bounds how long a host may take to say hello: it answers in
// microseconds unless the machine is out of breath.
const dialTimeout = 10 * time.Second

// Dial reaches the session's host by its socket. A session that is over is
// NotRunning and a host that does not answer is Unreachable.
func Dial(ctx context.Context, d home.Dir, version string) (*Client, error) {
	return dial(ctx, d, version, dialSocket)
}

func dial(ctx context.Context, d home.Dir, version string, open Dialer) (*Client, error) {
	m, err := d.Inspect()
	if err != nil {
		return nil, err
	}
	if m.Status.Final() {
		return nil, notRunning(m)
	}
	raw, err := open(ctx, m)
	if err != nil {
		return nil, dialError(d, m, err)
	}
	c := &Client{conn: wire.NewConn(raw, wire.MaxResponse), dir: d, name: m.Name}
	if err := c.hello(version); err != nil {
		raw.Close()
		switch fault.KindOf(err) {
		case fault.Protocol, fault.Denied, fault.Busy: // the host's own word
			return nil, err
		}
		return nil, dialError(d, m, err)
	}
	return c, nil
}

func (c *Client) hello(version string) error {
	if err := c.conn.Raw().SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	// A host that refuses closes at once; what it said is still to be read.
	sent := c.conn.Write(wire.Hello{V: wire.Version, Den: version})
	var theirs struct {
		wire.Hello
		Error *wire.Error `json:"error"`
	}
	if err := c.conn.Read(&theirs); err != nil {
		return errors.Join(sent, err)
	}
	switch {
	case theirs.Error != nil:
		return theirs.Error.Err()
	case sent != nil:
		return sent
	case theirs.V != wire.Version:
		return fault.Hintf(fault.Errorf(fault.Protocol, "the host of session '%s' (den %s) speaks protocol %d, this den speaks %d", c.name, theirs.Den, theirs.V, wire.Version),
			"'den host upgrade %s' with the newer den brings the host up to date", c.name)
	case theirs.ID != c.dir.ID:
		return fault.Errorf(fault.Unreachable, "another session answers for '%s'", c.name)
	}
	return c.conn.Raw().SetDeadline(time.Time{})
}

// dialError says why a host that should be there was not reached: it may have
// ended between the look at its record and the call.
func dialError(d home.Dir, m *home.Manifest, err error) error {
	if now := over(d); now != nil {
		return notRunning(now)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fault.Errorf(fault.Denied, "reach the host of session '%s': %w", m.Name, err)
	}
	if errors.Is(err, syscall.ENOENT) {
		return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the host of session '%s': its socket %s is gone", m.Name, m.Socket),
			"the host (pid %d) still runs; 'den kill %s' ends it", m.HostPID, m.Name)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the host of session '%s': %w", m.Name, err), "'den doctor' looks for the cause")
}

// dying is how long a host that broke a connection may take to let go of its
// lock, if it broke it because it ends.
const dying = 500 * time.Millisecond

// over returns the record of a session that is over, or about to be, and nil
// for one that lives on.
func over(d home.Dir) *home.Manifest {
	// A host closes its record before its socket.
	if m, err := d.Inspect(); err == nil && m.Status.Final() {
		return m
	}
	if gone, err := d.Gone(); err == nil {
		select {
		case <-gone:
		case <-time.After(dying):
			return nil
		}
	}
	if m, err := d.Inspect(); err == nil && m.Status.Final() {
		return m
	}
	return nil
}

// notRunning says in what way a session is over.
func notRunning(m *home.Manifest) error {
	err := fault.Errorf(fault.NotRunning, "session '%s' is %s", m.Name, m.Ending())
	return fault.Hintf(err, "'den snapshot %s' shows its last screen", m.Name)
}

// Close ends the connection, and with it what it was asked for.
func (c *Client) Close() error { return c.conn.Close() }

// Call asks for one thing and decodes the answer into result, unless nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.Stream(ctx, method, params, func(raw json.RawMessage) error {
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(raw, result); err != nil {
			return fault.Errorf(fault.Protocol, "answer to %s is not understood: %w", method, err)
		}
		return nil
	})
}

// Stream asks for one thing and calls each with every part of the answer.
func (c *Client) Stream(ctx context.Context, method string, params any, each func(json.RawMessage) error) error {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	if err := c.Send(method, params); err != nil {
		return c.broken(ctx, err)
	}
	for {
		var resp wire.Response
		if err := c.conn.Read(&resp); err != nil {
			return c.broken(ctx, err)
		}
		if resp.Error != nil {
			return resp.Error.Err()
		}
		if err := each(resp.Result); err != nil {
			return err
		}
		if !resp.Stream {
			return nil
		}
	}
}

// Send asks without waiting for an answer: for input within a stream.
func (c *Client) Send(method string, params any) error {
	req := wire.Request{Method: method}
	if params != nil {
		req.Params = wire.Params(params)
	}
	return c.conn.Write(req)
}

// broken explains a connection that ended in the middle.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault.KindOf(err) == fault.Protocol {
		return err
	}
	if m := over(c.dir); m != nil {
		return notRunning(m)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it closed the connection")
	}
	return fault.Errorf(fault.Unreachable, "host of session '%s': %w", c.name, err)
}
