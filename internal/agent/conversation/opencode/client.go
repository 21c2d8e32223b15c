package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
)

// maxAnswer bounds an answer of the server: a long session's messages fit.
const maxAnswer = 64 << 20

// client asks the server on loopback.
type client struct {
	base     string
	password string
	limit    time.Duration // of one call
	http     *http.Client
}

func newClient(e Endpoint, limit time.Duration) *client {
	// No proxy: the password is for this machine.
	return &client{base: "http://127.0.0.1:" + strconv.Itoa(e.Port), password: e.Password, limit: limit, http: &http.Client{Transport: &http.Transport{}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

func (c *client) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fault.Errorf(fault.Internal, "ask opencode: %w", err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "ask opencode: %w", err)
	}
	req.SetBasicAuth("opencode", c.password)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Errorf(fault.Unreachable, "ask opencode: %w", err)
	}
	if err := checkStatus(method+" "+path, resp); err != nil {
		resp.Body.Close() // Best effort: it was read.
		return nil, err
	}
	return resp, nil
}

func checkStatus(what string, resp *http.Response) error {
	kind := fault.Protocol
	switch {
	case resp.StatusCode < 300:
		// A path that it does not know gets the page of its web interface.
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			return fault.Errorf(fault.Unsupported, "ask opencode: it does not know %s", what)
		}
		return nil
	case resp.StatusCode == http.StatusNotFound:
		kind = fault.NotFound
	case resp.StatusCode == http.StatusUnauthorized:
		kind = fault.Denied
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // Best effort: the status says it, too.
	return fault.Errorf(kind, "ask opencode: %s: %s %s", what, resp.Status, strings.TrimSpace(string(text)))
}

// callLimit bounds one question to the server.
const callLimit = 20 * time.Second

// call asks one thing; result may be nil.
func (c *client) call(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	resp, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // Best effort: it was read.
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fault.Errorf(fault.Unreachable, "ask opencode: %s: %w", path, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fault.Errorf(fault.Protocol, "ask opencode: %s: %w", path, err)
	}
	return nil
}
