package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"

	"den/internal/base/fault"
)

// A Dialer opens a connection to a server: to a Unix socket of this machine,
// to one that a container shares, or through a program that runs elsewhere.
type Dialer func(ctx context.Context) (net.Conn, error)

// Unix returns the Dialer for a socket of this machine. It refuses a server of
// another user as fault.Denied.
func Unix(path string) Dialer {
	return func(ctx context.Context) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if err := CheckServer(raw.(*net.UnixConn)); err != nil {
			raw.Close() // Best effort: nothing was said.
			return nil, err
		}
		return raw, nil
	}
}

// Target is the server that a client means to speak with.
type Target struct {
	Version int    // of the protocol
	Den     string // the client's own build, for people
	ID      string // the server's; or empty: any
	Name    string // the server in messages, as in "the host of session 'x'"
	Hint    string // what to do about a server of another version
}

// helloLimit bounds how long a server may take to say hello: it answers in
// microseconds unless the machine is overloaded.
const helloLimit = 10 * time.Second

// BrokenError means that the connection ended, or never stood, before the
// answer was here: whether the server did what it was asked is not known.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string { return fmt.Sprintf("the connection broke: %v", e.Err) }
func (e *BrokenError) Unwrap() error { return e.Err }

// IsBroken reports whether err is a BrokenError.
func IsBroken(err error) bool {
	var broken *BrokenError
	return errors.As(err, &broken)
}

// Client speaks with one server. It is for one goroutine at a time, but for
// Send and Close.
type Client struct {
	frames *frames
	server Hello
}

// Dial connects and exchanges hellos. The error is the dialer's, a BrokenError,
// or the server's own: why it turns the client away.
func Dial(ctx context.Context, dial Dialer, to Target) (*Client, error) {
	raw, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &Client{frames: newFrames(raw, MaxResponse)}
	if err := c.hello(ctx, to); err != nil {
		raw.Close() // Best effort: nothing was asked.
		return nil, err
	}
	return c, nil
}

func (c *Client) hello(ctx context.Context, to Target) error {
	raw := c.frames.raw
	if err := raw.SetDeadline(time.Now().Add(helloLimit)); err != nil {
		return &BrokenError{err}
	}
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	// A server that turns us away closes at once; what it said is still to be
	// read.
	sent := c.frames.write(Hello{V: to.Version, Den: to.Den})
	if _, err := c.frames.read(&c.server); err != nil {
		return c.broken(ctx, errors.Join(sent, err))
	}
	switch theirs := c.server; {
	case theirs.Error != nil:
		return theirs.Error.Err()
	case sent != nil:
		return c.broken(ctx, sent)
	case theirs.V != to.Version:
		return fault.Hintf(fault.Errorf(fault.Protocol, "%s (den %s) speaks protocol %d, this den speaks %d", to.Name, theirs.Den, theirs.V, to.Version), "%s", to.Hint)
	case to.ID != "" && theirs.ID != to.ID:
		return fault.Errorf(fault.Unreachable, "another one answers for %s", to.Name)
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

// Den returns the version of the server's build.
func (c *Client) Den() string { return c.server.Den }

// Close ends the connection, and with it what it was asked for.
func (c *Client) Close() error { return c.frames.raw.Close() }

// Call asks for one thing and decodes the answer into result, unless nil. Of
// an answer in parts it decodes the last.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.ask(ctx, method, params, result, func(r Response) error {
		if result == nil || r.Stream {
			return nil
		}
		if err := json.Unmarshal(r.Result, result); err != nil {
			return fault.Errorf(fault.Protocol, "answer to %s is not understood: %w", method, err)
		}
		return nil
	})
}

// Stream asks for one thing and calls each with every part of the answer, the
// last with last set. An error of each ends the connection's use: the rest of
// the answer is not read.
func (c *Client) Stream(ctx context.Context, method string, params any, each func(part json.RawMessage, last bool) error) error {
	return c.ask(ctx, method, params, nil, func(r Response) error { return each(r.Result, !r.Stream) })
}

// ask asks for one thing and gives take the answer, which is decoded into a value
// like result, or not if that is nil.
func (c *Client) ask(ctx context.Context, method string, params, result any, take func(Response) error) error {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.Send(method, params); err != nil {
		return c.broken(ctx, err)
	}
	prepareToDecode(result)
	for {
		var r Response
		if _, err := c.frames.read(&r); err != nil {
			return c.broken(ctx, err)
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

// prepareToDecode has encoding/json learn the type that result points to. That
// takes a short-lived client longer than the decoding itself, so it is done
// while the server works on the answer.
func prepareToDecode(result any) {
	if result != nil {
		_ = json.Unmarshal([]byte("{}"), reflect.New(reflect.TypeOf(result).Elem()).Interface()) // what is not an object is learned later
	}
}

// Send asks without waiting for an answer: for requests within a stream.
func (c *Client) Send(method string, params any) error {
	return c.frames.write(struct {
		Method string `json:"method"`
		Params any    `json:"params,omitempty"`
	}{method, params})
}

// broken explains a connection that ended in the middle.
func (c *Client) broken(ctx context.Context, err error) error {
	switch encode := (*encodeError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &encode), fault.KindOf(err) == fault.Protocol:
		return err
	}
	return &BrokenError{err}
}
