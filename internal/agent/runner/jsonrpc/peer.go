// Package jsonrpc is the client's end of JSON-RPC with an agent that also sends
// requests.
//
// It takes messages of any shape, so that it never mistakes an answer that it
// cannot read for a request.
package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"den/internal/agent/runner"
	"den/internal/agent/runner/stdio"
)

// Message is any message of JSON-RPC.
type Message struct {
	JSONRPC string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// UnmarshalJSON takes an error of any shape.
func (e *Error) UnmarshalJSON(data []byte) error {
	var loose struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(data, &loose) != nil {
		e.Message = string(data)
		return nil
	}
	if json.Unmarshal(loose.Code, &e.Code) != nil {
		e.Code = CodeInternal
	}
	if json.Unmarshal(loose.Message, &e.Message) != nil {
		e.Message = string(loose.Message)
	}
	e.Data = loose.Data
	return nil
}

// The codes of JSON-RPC that agents get from here.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
)

// Conn carries messages.
type Conn interface {
	// Read returns the next message that is a JSON object.
	Read() (json.RawMessage, error)
	Write(ctx context.Context, message any) error
}

// Peer is the agent's end of a connection: requests to it, and the answers.
type Peer struct {
	conn    Conn
	end     func(error) error
	version string

	mu      sync.Mutex // guards the fields below
	last    int64
	waiting map[int64]func(Message, error) // called by the reader, once
	ended   error                          // set when nothing more comes
}

// New makes the peer of a connection to an agent's process.
func New(conn *stdio.Conn) *Peer {
	p := Bare(conn, func(error) error { return Gone(conn.Close()) })
	p.version = "2.0"
	return p
}

// Bare makes a peer whose messages have no version, as codex' app server wants
// them. end ends the connection after an error, and says why nothing more comes.
func Bare(conn Conn, end func(error) error) *Peer {
	return &Peer{conn: conn, end: end, waiting: map[int64]func(Message, error){}}
}

// Read hands requests and notifications to handle, and answers to those who
// wait for them, until the agent's output ends. It returns when the connection
// has ended, and with it an agent's process.
func (p *Peer) Read(handle func(Message)) {
	for {
		line, err := p.conn.Read()
		if err != nil {
			p.fail(p.end(err)) // who cannot be heard cannot be used
			return
		}
		var m Message
		_ = json.Unmarshal(line, &m) // Best effort: it is JSON, and members of other types are left out.
		switch {
		case m.Method != "":
			handle(m)
		case m.ID != nil:
			p.answer(m)
		}
	}
}

// answer finds who waits for a response. Some agents return numbers as text.
func (p *Peer) answer(m Message) {
	id, err := strconv.ParseInt(strings.Trim(string(m.ID), `"`), 10, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	done := p.waiting[id]
	delete(p.waiting, id)
	p.mu.Unlock()
	if done == nil {
		return // nobody waits any more
	}
	if m.Error != nil {
		done(m, m.Error)
		return
	}
	done(m, nil)
}

func (p *Peer) fail(err error) {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting, p.ended = nil, err
	p.mu.Unlock()
	for _, done := range waiting {
		done(Message{}, err)
	}
}

// Send writes a request; done is called by the reader with the answer, unless
// Send fails.
func (p *Peer) Send(ctx context.Context, method string, params any, done func(Message, error)) (id int64, err error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return 0, p.ended
	}
	p.last++
	id = p.last
	p.waiting[id] = done
	p.mu.Unlock()
	m := Message{JSONRPC: p.version, ID: strconv.AppendInt(nil, id, 10), Method: method, Params: raw}
	if err := p.conn.Write(ctx, m); err != nil {
		p.Forget(id)
		return 0, err
	}
	return id, nil
}

// Forget drops a request: its answer is of no interest any more.
func (p *Peer) Forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// Call sends a request and decodes its answer into result, which may be nil.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	type answer struct {
		m   Message
		err error
	}
	answered := make(chan answer, 1) // room for the one answer
	id, err := p.Send(ctx, method, params, func(m Message, err error) { answered <- answer{m, err} })
	if err != nil {
		return p.WhyNot(err)
	}
	select {
	case a := <-answered:
		if a.err != nil || result == nil {
			return a.err
		}
		if err := json.Unmarshal(a.m.Result, result); err != nil {
			return &runner.Failure{Class: runner.Bug, Message: "the agent's answer to " + method + " cannot be read: " + err.Error()}
		}
		return nil
	case <-ctx.Done():
		p.Forget(id)
		return ctx.Err()
	}
}

// WhyNot tells a closed pipe by how the process ended.
func (p *Peer) WhyNot(err error) error {
	var failure *runner.Failure
	if errors.As(err, &failure) && failure.Class == runner.Gone {
		return p.end(err)
	}
	return err
}

// Notify sends a notification; params may be nil.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	m := Message{JSONRPC: p.version, Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return err
		}
		m.Params = raw
	}
	return p.WhyNot(p.conn.Write(ctx, m))
}

// Reply answers a request of the agent.
func (p *Peer) Reply(ctx context.Context, id json.RawMessage, result any, failed error) error {
	m := Message{JSONRPC: p.version, ID: id}
	if failed != nil {
		m.Error = asError(failed)
	} else {
		raw, err := json.Marshal(result)
		if err != nil {
			return err
		}
		m.Result = raw
	}
	return p.conn.Write(ctx, m)
}

func asError(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// Gone is the failure of a turn or call whose process ended.
func Gone(exit runner.Exit) error {
	said := fmt.Sprintf("the agent ended with exit %d", exit.Code)
	if exit.Reason != "" {
		said += ": " + exit.Reason
	}
	return &runner.Failure{Class: runner.Gone, Message: said}
}
