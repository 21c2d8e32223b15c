package ipc

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// Conn is a connection to a harness. One call at a time.
type Conn struct {
	conn  *net.UnixConn
	lines *bufio.Reader
	// OnWhisper hears whispers; or nil. Set it before the first call.
	OnWhisper func(Whisper)
}

// Dial connects to the harness that listens at path.
func Dial(ctx context.Context, path string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, dialError(path, err)
	}
	unix := conn.(*net.UnixConn)
	if err := rpc.CheckServer(unix); err != nil {
		conn.Close() // Best effort: nothing was sent.
		return nil, err
	}
	return &Conn{conn: unix, lines: bufio.NewReaderSize(conn, 4096)}, nil
}

// dialError says why a harness cannot be reached, and what to do.
func dialError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fault.Hintf(fault.Errorf(fault.NotRunning, "no harness listens at %s", path), "'den ps' shows the agents; 'den up' starts them")
	case errors.Is(err, syscall.EPERM): // the kernel's word for what a filter of system calls does not let through
		return fault.Hintf(fault.Errorf(fault.Denied, "connect to the harness: %w", err), "a sandbox does not let this command connect: run it outside of the sandbox (codex: sandbox_permissions \"require_escalated\")")
	}
	kind := fault.Unreachable
	if errors.Is(err, context.DeadlineExceeded) { // the caller's time is over, perhaps a moment before its context says so
		kind = fault.Timeout
	}
	return fault.Errorf(kind, "connect to the harness: %w", err)
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Call makes a request and decodes the data of its response. It returns the
// response's warnings.
func (c *Conn) Call(ctx context.Context, r Request, data any) ([]string, error) {
	response, err := c.exchange(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	if data != nil && len(response.Data) > 0 {
		if err := json.Unmarshal(response.Data, data); err != nil {
			return response.Warnings, fault.Errorf(fault.Protocol, "read the harness's answer: %w", err)
		}
	}
	return response.Warnings, nil
}

// Follow makes a request that is answered by many messages, and calls each
// with them until the context ends or the harness does.
func (c *Conn) Follow(ctx context.Context, r Request, each func(json.RawMessage) error) error {
	_, err := c.exchange(ctx, r, each)
	return err
}

func (c *Conn) exchange(ctx context.Context, r Request, each func(json.RawMessage) error) (Response, error) {
	if r.ID == "" {
		r.ID = strings.ToLower(rand.Text())
	}
	stop := context.AfterFunc(ctx, func() { c.conn.Close() }) // Best effort: it only has the reader leave.
	defer stop()
	line, err := json.Marshal(r)
	if err != nil {
		return Response{}, err
	}
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		return Response{}, c.broken(ctx, err)
	}
	for {
		line, err := c.lines.ReadBytes('\n')
		if err != nil {
			return Response{}, c.broken(ctx, err)
		}
		response, done, err := c.take(r, line, each)
		if done || err != nil {
			return response, err
		}
	}
}

// take handles one line; done where it is the response.
func (c *Conn) take(r Request, line []byte, each func(json.RawMessage) error) (Response, bool, error) {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return Response{}, false, fault.Errorf(fault.Protocol, "read the harness's answer: %w", err)
	}
	switch {
	case head.Type == TypeWhisper:
		var w Whisper
		if err := json.Unmarshal(line, &w); err == nil && c.OnWhisper != nil {
			c.OnWhisper(w)
		}
		return Response{}, false, nil
	case head.Type == TypeResponse && (head.ID == r.ID || head.ID == ""):
		var response Response
		if err := json.Unmarshal(line, &response); err != nil {
			return response, true, fault.Errorf(fault.Protocol, "read the harness's answer: %w", err)
		}
		return response, true, response.err()
	case each != nil:
		return Response{}, false, each(line)
	}
	return Response{}, false, nil // of a later version, or of an earlier request
}

func (r Response) err() error {
	if r.OK {
		return nil
	}
	kind := fault.Kind(r.Kind)
	if kind == "" {
		kind = fault.Internal
	}
	err := fault.Errorf(kind, "%s", r.Error)
	if r.Hint != "" {
		err = fault.Hintf(err, "%s", r.Hint)
	}
	return err
}

func (c *Conn) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.Errorf(fault.KindOf(ctx.Err()), "wait for the harness: %w", ctx.Err())
	}
	return fault.Errorf(fault.Unreachable, "the harness ended the connection: %w", err)
}
