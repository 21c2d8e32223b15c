// Package toolsocket is the socket on which an agent calls the tools of its
// tick: the list of tools, the messages, the server and the client.
//
// The tick serves it. A server of the Model Context Protocol that the agent's
// program starts, or a script by the command line, calls it. Only processes of
// the same user are admitted.
package toolsocket

import (
	"context"
	"encoding/json"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// Variable names the socket in the environment of an agent's program.
const Variable = "DEN_KERNEL_TOOLS"

// version is that of the protocol.
const version = 1

const methodCall = "call"

// Call is the use of a tool.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object
}

// Answer is what a tool says to the agent.
type Answer struct {
	Text   string          `json:"text"`
	Failed bool            `json:"failed,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"` // the same for programs, where the tool has it
}

// A Tool is one of the list, as models are told.
type Tool struct {
	Name        string
	Description string
	Schema      string // of its arguments, in JSON
}

// Tools are all of them.
var Tools = []Tool{
	{
		Name:        "login",
		Description: "Call this first in every tick: it opens your terminals and tells what happened to earlier ones.",
		Schema:      `{"type":"object","properties":{}}`,
	},
	{
		Name:        "open",
		Description: "Open a terminal, for a command or for a shell. Returns its number.",
		Schema:      `{"type":"object","properties":{"command":{"type":"string","description":"default: a shell"}}}`,
	},
	{
		Name: "type",
		Description: "Type into a terminal, followed by Enter. expect names the program that you believe to run there: if another does, nothing is typed. " +
			"Fails while the terminal shows something that you have not seen: call wait first.",
		Schema: `{"type":"object","properties":{"tty":{"type":"integer"},"expect":{"type":"string","description":"such as bash, python3, vim"},` +
			`"text":{"type":"string","description":"text, or one key such as C-c, Tab, Up, Escape, without Enter"},` +
			`"keys":{"type":"string","description":"instead of text: text and keys, such as <Esc>:wq<Enter>"},` +
			`"enter":{"type":"boolean","description":"default true behind text"},"anyway":{"type":"boolean","description":"also if there is unseen output"}},` +
			`"required":["tty","expect"]}`,
	},
	{
		Name:        "wait",
		Description: "Wait until the terminals have something new to show, and return what is new in all of them.",
		Schema: `{"type":"object","properties":{"timeout":{"type":"integer","description":"seconds, at most 60, default 30"},` +
			`"tty":{"type":"integer","description":"wait for this terminal only"},"until":{"type":"string","description":"wait until this regular expression matches what is new"}}}`,
	},
	{
		Name:        "close",
		Description: "End a terminal and keep its recording. Terminals that run must be closed before the tick can end.",
		Schema:      `{"type":"object","properties":{"tty":{"type":"integer"}},"required":["tty"]}`,
	},
}

// NewServer returns a server that answers calls, which may come at the same
// time.
func NewServer(den string, answer func(ctx context.Context, c Call) (Answer, error)) *rpc.Server {
	return rpc.NewServer(rpc.Config{
		Version: version, Den: den, Kind: "tick", Name: "the tick",
		Handler: func(ctx context.Context, call *rpc.Call) (any, error) {
			if call.Method != methodCall {
				return nil, fault.Errorf(fault.Protocol, "the tick knows no method '%s'", call.Method)
			}
			var c Call
			if err := call.Decode(&c); err != nil {
				return nil, err
			}
			return answer(ctx, c)
		},
	})
}

// Use calls a tool at a socket. An error means that the tool was not reached,
// or did not answer; what a tool itself refuses is an Answer.
func Use(ctx context.Context, socket, den string, c Call) (Answer, error) {
	var a Answer
	client, err := rpc.Dial(ctx, rpc.Unix(socket), rpc.Target{Version: version, Den: den, Name: "the tick", Hint: "use one den for the whole tick"})
	if err != nil {
		return a, fault.Hintf(fault.Errorf(fault.KindOf(err), "use the tool '%s': %w", c.Tool, err), "tools can be used while the tick runs that gave them")
	}
	defer client.Close() // Best effort: the answer is here.
	if err := client.Call(ctx, methodCall, c, &a); err != nil {
		return a, fault.Errorf(fault.KindOf(err), "use the tool '%s': %w", c.Tool, err)
	}
	return a, nil
}
