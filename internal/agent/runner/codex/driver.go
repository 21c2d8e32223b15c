// Package codex drives codex by its app-server, one process for many turns.
//
// The protocol is JSON-RPC over lines, without its version member. A session is
// a thread: den starts or resumes one, starts turns in it and listens to the
// items of each. The agent asks for approvals by requests of its own.
//
// By default threads run with the approval policy "untrusted" and the sandbox
// "workspace-write": codex then asks before it changes a file or runs a command,
// also one that only reads, and what was approved still runs in the sandbox.
// When the sandbox refuses it, codex asks again, to run it outside.
package codex

import (
	"context"
	"errors"
	"math"
	"slices"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
	"den/internal/base/fault"
)

// Driver is codex's.
type Driver struct{}

// Name is "codex".
func (Driver) Name() string { return "codex" }

// Compacts says that the agent can be asked to.
func (Driver) Compacts() {}

// The keys of runner.Options.Extra.
const (
	optionApproval = "approval_policy"
	optionSandbox  = "sandbox"
)

// Open spawns the app-server and starts or resumes a thread.
func (Driver) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	params, err := threadParamsOf(o)
	if err != nil {
		return nil, err
	}
	argv := o.Command
	if len(argv) == 0 {
		argv = []string{"codex"}
	}
	argv = append(append([]string{}, argv...), "app-server")
	conn, err := stdio.Open(ctx, o, runner.Command{Argv: argv, Dir: o.Dir, Env: o.Env})
	if err != nil {
		return nil, err
	}
	s := newSession(conn, o)
	if err := s.open(ctx, params); err != nil {
		return nil, turn.OpenError(err, s.Close())
	}
	return s, nil
}

func threadParamsOf(o runner.Options) (threadParams, error) {
	p := threadParams{
		ThreadID: o.Resume, Dir: o.Dir, Model: o.Model, Approval: "untrusted", Sandbox: "workspace-write",
		Instructions: o.SystemPrompt, ExcludeTurns: o.Resume != "", Config: configOf(o),
	}
	if o.OnlyPrompt {
		p.Base, p.Instructions = o.SystemPrompt, ""
	}
	for key, value := range o.Extra {
		switch key {
		case optionApproval:
			p.Approval = value
		case optionSandbox:
			p.Sandbox = value
		default:
			return p, fault.Errorf(fault.Usage, "start codex: the option '%s' is not known: use %s or %s", key, optionApproval, optionSandbox)
		}
	}
	return p, nil
}

func newSession(conn *stdio.Conn, o runner.Options) *session {
	s := &session{
		conn: conn, peer: jsonrpc.Bare(conn, func(error) error { return turn.Gone(conn.Close()) }), log: o.Log, effort: o.Thinking,
		questions: turn.NewQuestions(o.Ask), replies: turn.NewReplies(conn.Write, o.Log),
		skipped: turn.Skipped{Log: o.Log}, read: make(chan struct{}), patches: map[string][]string{},
	}
	go s.readAll() // ends with the agent's output; Close waits for it
	return s
}

// open shakes hands and makes the session's thread.
func (s *session) open(ctx context.Context, p threadParams) error {
	hello := initializeParams{ClientInfo: clientInfo{Name: "den", Title: "den", Version: "1"}}
	if err := s.call(ctx, "initialize", hello, &struct{}{}); err != nil {
		return err
	}
	if err := s.peer.Notify(ctx, "initialized", nil); err != nil {
		return s.gone(err)
	}
	method := "thread/start"
	if p.ThreadID != "" {
		method = "thread/resume"
	}
	var started threadResult
	if err := s.call(ctx, method, p, &started); err != nil {
		return err
	}
	if started.Thread.ID == "" {
		return &runner.Failure{Class: runner.Bug, Message: method + ": codex named no thread"}
	}
	s.thread, s.model = started.Thread.ID, started.Model
	return nil
}

// call sends a request and waits for its result. What comes meanwhile belongs
// to no turn.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	err := s.peer.Call(ctx, method, params, result)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return callFailure(method, refused)
	}
	return err
}

var _ runner.Driver = Driver{}

// toolTimeout is how long a tool of den's may take, in seconds. codex' own
// limit is as long as den's longest wait.
const toolTimeout = 300

// configOf is what the options change of the user's configuration, nil for
// nothing.
func configOf(o runner.Options) map[string]any {
	config := map[string]any{}
	if len(o.Servers) > 0 {
		servers := map[string]any{}
		for _, s := range o.Servers {
			servers[s.Name] = map[string]any{"command": s.Command[0], "args": s.Command[1:], "env": s.Env, "tool_timeout_sec": toolTimeout, "required": true}
		}
		config["mcp_servers"] = servers
	}
	if slices.Contains(o.Without, permission.Execute) {
		config["features"] = map[string]bool{"shell_tool": false, "unified_exec": false}
	}
	if slices.Contains(o.Without, permission.Fetch) {
		config["web_search"] = "disabled"
	}
	if o.KeepWhole {
		config["model_auto_compact_token_limit"] = math.MaxInt32
	}
	if len(config) == 0 {
		return nil
	}
	return config
}
