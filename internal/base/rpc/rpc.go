// Package rpc is the one server and the one client for all of den's sockets.
//
// Each side of a connection begins with a Hello. Then the client sends
// Requests, one after the other. Each is answered by one Response, or by a
// stream of Responses of which the last has no Stream flag. Each message is one
// line of JSON. A client that closes its end cancels its request.
//
// The server bounds everything that a client can make it hold: see Limits. The
// client speaks over any connection that its Dialer opens.
package rpc

import (
	"encoding/json"

	"den/internal/base/fault"
)

// Limits of one message. A longer line ends the connection.
const (
	MaxRequest  = 16 << 20
	MaxResponse = 256 << 20
)

// Hello is the first line in each direction.
type Hello struct {
	V   int    `json:"v"`
	Den string `json:"den"` // the build's version, for people
	ID  string `json:"id,omitempty"`
	// Error, in a server's hello, says why the client is turned away.
	Error *Error `json:"error,omitempty"`
}

// Request asks for one thing.
type Request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`

	number int // among those of its connection; of use to the server
}

// Decode decodes the parameters. Absent ones leave v as it is.
func (r Request) Decode(v any) error {
	if len(r.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return fault.Errorf(fault.Protocol, "parameters of %s are not understood: %w", r.Method, err)
	}
	return nil
}

// Response is an answer, or a part of one.
type Response struct {
	Stream bool            `json:"stream,omitempty"` // more will follow
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Error is an error with its kind, as it crosses a socket.
type Error struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// FromError makes err ready to cross a socket.
func FromError(err error) *Error {
	return &Error{Kind: fault.KindOf(err), Message: err.Error(), Hint: fault.HintOf(err)}
}

// Err turns a received error back into an error of its kind. A kind that this
// build does not know becomes internal.
func (e *Error) Err() error {
	kind := e.Kind
	if !fault.Known(kind) {
		kind = fault.Internal
	}
	err := fault.Errorf(kind, "%s", e.Message)
	if e.Hint != "" {
		err = fault.Hintf(err, "%s", e.Hint)
	}
	return err
}
