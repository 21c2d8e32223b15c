package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Client speaks with one session's host. It is for one goroutine at a time.
type Client struct {
	*rpc.Client
	dir  home.Dir
	name string
}

// A Dialer opens a connection to the host of the session with this record. It
// need not be a Unix socket of this machine.
type Dialer func(ctx context.Context, m *home.Manifest) (net.Conn, error)

// dialSocket is the Dialer for hosts of this machine.
func dialSocket(ctx context.Context, m *home.Manifest) (net.Conn, error) {
	return rpc.Unix(m.Socket)(ctx)
}

// Dial reaches the session's host by its socket. A session that is over is
// NotRunning and a host that does not answer is Unreachable.
func Dial(ctx context.Context, d home.Dir, version string) (*Client, error) {
	return dial(ctx, d, Options{Version: version, Dial: dialSocket})
}

func dial(ctx context.Context, d home.Dir, o Options) (*Client, error) {
	m := &home.Manifest{ID: d.ID, Name: d.ID, Status: home.Running} // as far as anybody here knows
	if !o.Remote {
		var err error
		if m, err = d.Inspect(); err != nil {
			return nil, err
		}
	}
	if m.Status.Final() {
		return nil, notRunning(m)
	}
	if !o.Remote {
		if err := d.CheckSocket(m.Socket); err != nil {
			return nil, fmt.Errorf("reach the host of session '%s': %w", m.Name, err)
		}
	}
	reached := ctx
	if !o.Remote {
		var end func()
		reached, end = untilStopped(ctx, m.HostPID)
		defer end()
	}
	c, err := rpc.Dial(reached, func(ctx context.Context) (net.Conn, error) { return o.Dial(ctx, m) }, rpc.Target{
		Version: wire.Version, Den: o.Version, ID: d.ID,
		Name: fmt.Sprintf("the host of session '%s'", m.Name),
		Hint: fmt.Sprintf("'den host upgrade %s' with the newer den brings the host up to date", m.Name),
	})
	switch fault.KindOf(err) {
	case "":
		return &Client{Client: c, dir: d, name: m.Name}, nil
	case fault.Protocol, fault.Denied, fault.Busy: // the host's own words
		return nil, err
	}
	if reached.Err() != nil && ctx.Err() == nil {
		return nil, frozen(m)
	}
	return nil, dialError(d, m, err)
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
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return frozen(m)
	}
	if errors.Is(err, syscall.ENOENT) {
		return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the host of session '%s': its socket %s is gone", m.Name, m.Socket),
			"the host (pid %d) still runs; 'den kill --force %s' ends it", m.HostPID, m.Name)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the host of session '%s': %w", m.Name, err), "'den doctor' looks for the cause")
}

// dying is how long a host that broke a connection may take to let go of its
// lock, if it broke it because it ends.
const dying = 500 * time.Millisecond

// over returns the record of a session that is over, or about to be, and nil
// for one that lives on.
func over(d home.Dir) *home.Manifest {
	if d.Path == "" {
		return nil // its record is not on this machine
	}
	// A host closes its record before its socket.
	if m, err := d.Inspect(); err == nil && m.Status.Final() {
		return m
	}
	waiting, stop := context.WithTimeout(context.Background(), dying)
	defer stop()
	if gone, err := d.Gone(waiting); err == nil {
		select {
		case <-gone:
		case <-waiting.Done():
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

// Call asks for one thing and decodes the answer into result, unless nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.explain(c.Client.Call(ctx, method, params, result))
}

// Stream asks for one thing and calls each with every part of the answer.
func (c *Client) Stream(ctx context.Context, method string, params any, each func(json.RawMessage) error) error {
	return c.explain(c.Client.Stream(ctx, method, params, func(part json.RawMessage, _ bool) error { return each(part) }))
}

// unansweredError is the end of a session in place of an answer. It wraps the
// BrokenError: whether the host did what it was asked is not known.
type unansweredError struct{ broken error }

func (unansweredError) Error() string   { return "it ended before it answered" }
func (e unansweredError) Unwrap() error { return e.broken }

// explain says why a connection ended in the middle.
func (c *Client) explain(err error) error {
	var broken *rpc.BrokenError
	if !errors.As(err, &broken) {
		return err
	}
	if m := over(c.dir); m != nil {
		return fault.Errorf(fault.NotRunning, "%w: %w", notRunning(m), unansweredError{broken})
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it closed the connection")
	}
	return fault.Errorf(fault.Unreachable, "host of session '%s': %w", c.name, err)
}
