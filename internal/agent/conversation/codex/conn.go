package codex

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"den/internal/base/fault"
)

const (
	maxMessage = 64 << 20         // bytes of one message: a joined thread comes whole
	callLimit  = 20 * time.Second // for the answer to one request
)

// conn is one connection to the server. Reading is its owner's.
type conn struct {
	ws *websocket.Conn

	mu      sync.Mutex // guards the fields below
	last    int
	waiting map[string]chan message // by id; one slot each: the send cannot block
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
	return &conn{ws: ws, waiting: map[string]chan message{}}, nil
}

// close ends the connection. Best effort: the server notices.
func (c *conn) close() { _ = c.ws.CloseNow() }

// read returns the next notification or request. Responses go to who waits.
func (c *conn) read(ctx context.Context) (message, error) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return message{}, fault.Errorf(fault.Unreachable, "read from codex: %w", err)
		}
		m, err := parseMessage(data)
		if err != nil || m.Method != "" {
			return m, err
		}
		c.mu.Lock()
		if waiter := c.waiting[string(m.ID)]; waiter != nil {
			waiter <- m
			delete(c.waiting, string(m.ID))
		}
		c.mu.Unlock()
	}
}

func (c *conn) write(ctx context.Context, v any) error {
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
	answer := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.Itoa(c.last)
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	if err := c.write(ctx, map[string]any{"id": json.RawMessage(id), "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m := <-answer:
		if m.Error != nil {
			return fault.Errorf(fault.Protocol, "ask codex for %s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fault.Errorf(fault.Protocol, "ask codex for %s: %w", method, err)
		}
		return nil
	}
}
