package codex

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/coder/websocket"

	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/fault"
)

const (
	maxMessage = 64 << 20         // bytes of one message: a joined thread comes whole
	callLimit  = 20 * time.Second // for the answer to one request
)

// conn is one connection to the server. Its owner runs peer.Read.
type conn struct {
	ws   *websocket.Conn
	peer *jsonrpc.Peer
	why  error // that nothing more comes; set before peer.Read returns
}

// dial connects to the server's socket.
func dial(ctx context.Context, socket string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		// Codex listens elsewhere and leaves a link: the path of a socket is short.
		if path, err := filepath.EvalSymlinks(socket); err == nil {
			socket = path
		}
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	ws, _, err := websocket.Dial(ctx, "ws://codex/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, fault.Errorf(fault.Unreachable, "connect to codex: %w", err)
	}
	ws.SetReadLimit(maxMessage)
	c := &conn{ws: ws}
	c.peer = jsonrpc.Bare(c, func(err error) error {
		c.why = err
		return err
	})
	return c, nil
}

// close ends the connection. Best effort: the server notices.
func (c *conn) close() { _ = c.ws.CloseNow() }

// Read returns the next message, until the connection is closed.
func (c *conn) Read() (json.RawMessage, error) {
	_, data, err := c.ws.Read(context.Background())
	if err != nil {
		return nil, fault.Errorf(fault.Unreachable, "read from codex: %w", err)
	}
	return data, nil
}

// Write sends a message.
func (c *conn) Write(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fault.Errorf(fault.Internal, "write to codex: %w", err)
	}
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		return fault.Errorf(fault.Unreachable, "write to codex: %w", err)
	}
	return nil
}

// call asks for one thing while somebody reads; result may be nil.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := c.peer.Call(ctx, method, params, result)
	var no *jsonrpc.Error
	var unread *runner.Failure
	if errors.As(err, &no) || errors.As(err, &unread) {
		return fault.Errorf(fault.Protocol, "ask codex for %s: %w", method, err)
	}
	return err
}
