// Package wire holds the message types and the JSON Lines framing of every
// socket; it has no behaviour of its own.
//
// A connection begins with one Hello from each side. Then the client sends
// Requests, one after the other; each is answered by one Response, or, for the
// streaming methods, by many Responses of which the last has no Stream flag.
// A client that closes its end cancels what it asked for.
package wire

import (
	"encoding/json"

	"den/internal/fault"
)

// Version is the protocol spoken by this build. It changes when an old peer
// would misunderstand a new one; added fields and methods do not change it.
const Version = 1

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
}

// Request asks for one thing.
type Request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
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
