// Package claude drives Claude Code over JSON lines, one process for many
// turns.
//
// The process is 'claude -p' with stream-json both ways. Prompts are user
// messages with an id of their own, by which the agent's answers name them.
// Beside them runs a control protocol: den initialises the session and
// interrupts turns, the agent asks permission for its tools.
package claude

import (
	"context"

	"den/internal/agent/runner"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
	"den/internal/base/fault"
)

// Driver is Claude Code's.
type Driver struct{}

// Name is "claude".
func (Driver) Name() string { return "claude" }

// Compacts says that the agent has a command of its own for that, with the
// name of runner.CompactPrompt.
func (Driver) Compacts() {}

// The keys of runner.Options.Extra: the agent's own permission mode, and which
// of its settings it reads. Without them it reads all of its settings (the
// user's, the project's, local ones), and asks for what they do not allow.
const (
	optionPermissionMode = "permission_mode"
	optionSettings       = "setting_sources"
)

// Open spawns the agent and initialises its session.
func (Driver) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	command, err := commandOf(o)
	if err != nil {
		return nil, err
	}
	conn, err := stdio.Open(ctx, o, command)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, o)
	if err := s.initialize(ctx, o); err != nil {
		return nil, turn.OpenError(err, s.Close())
	}
	return s, nil
}

func commandOf(o runner.Options) (runner.Command, error) {
	argv := o.Command
	if len(argv) == 0 {
		argv = []string{"claude"}
	}
	mode := "default"
	if own, ok := o.Extra[optionPermissionMode]; ok {
		mode = own
	}
	for key := range o.Extra {
		if key != optionPermissionMode && key != optionSettings {
			return runner.Command{}, fault.Errorf(fault.Usage, "start claude: the option '%s' is not known: use %s or %s", key, optionPermissionMode, optionSettings)
		}
	}
	argv = append(append([]string{}, argv...),
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", mode,
	)
	if sources, ok := o.Extra[optionSettings]; ok {
		argv = append(argv, "--setting-sources="+sources)
	}
	if o.Model != "" {
		argv = append(argv, "--model="+o.Model)
	}
	if o.Thinking != "" {
		argv = append(argv, "--effort="+o.Thinking)
	}
	if o.Resume != "" {
		argv = append(argv, "--resume="+o.Resume) // one word: an id cannot be taken for a flag
	}
	tools, err := toolFlags(o)
	if err != nil {
		return runner.Command{}, err
	}
	argv = append(argv, tools...)
	env := map[string]string{"CLAUDECODE": ""} // it refuses to run within itself
	for key, value := range o.Env {
		env[key] = value
	}
	return runner.Command{Argv: argv, Dir: o.Dir, Env: env}, nil
}

// initialize shakes hands. The system prompt goes with it, and not on the
// command line, where its length is limited and everybody can read it.
func (s *session) initialize(ctx context.Context, o runner.Options) error {
	t, err := s.relay.Begin()
	if err != nil {
		return err
	}
	defer t.End()
	request := map[string]any{"subtype": "initialize"}
	if o.SystemPrompt != "" && o.OnlyPrompt {
		request["systemPrompt"] = o.SystemPrompt
	} else if o.SystemPrompt != "" {
		request["appendSystemPrompt"] = o.SystemPrompt
	}
	if hooks := hooksOf(o); len(hooks) > 0 {
		request["hooks"] = hooks
	}
	answer, err := s.control(ctx, t, request, o.Resume != "")
	if err != nil {
		return err
	}
	if answer.Subtype != "success" {
		return &runner.Failure{Class: runner.Bug, Message: "initialize: " + answer.Error}
	}
	if o.KeepWhole {
		return s.askWindow(ctx, t)
	}
	return nil
}

// control makes a request of the control protocol and waits for its answer.
func (s *session) control(ctx context.Context, t *turn.Turn[*message], request map[string]any, resuming bool) (controlResponse, error) {
	id := s.nextID()
	if err := s.conn.Write(ctx, controlRequest{Type: "control_request", RequestID: id, Request: request}); err != nil {
		return controlResponse{}, s.gone(err)
	}
	for {
		m, err := t.Next(ctx)
		switch {
		case err != nil:
			return controlResponse{}, s.gone(err)
		case m.Type == "result": // before any prompt: it could not load the session
			return controlResponse{}, openFailure(m, resuming)
		case m.Type == "control_response" && m.Response.RequestID == id:
			return m.Response, nil
		}
	}
}

// askWindow learns how large the model's context is, which is otherwise told at
// the end of the first turn only. An agent that does not know the request says
// so.
func (s *session) askWindow(ctx context.Context, t *turn.Turn[*message]) error {
	answer, err := s.control(ctx, t, map[string]any{"subtype": "get_context_usage", "detail": "summary"}, false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window = max(answer.Response.RawWindow, answer.Response.Window)
	return nil
}

func openFailure(m *message, resuming bool) *runner.Failure {
	f := failureOf(m, nil)
	if resuming {
		f.Class = runner.NoSession
	}
	return f
}

var (
	_ runner.Driver    = Driver{}
	_ runner.Compacter = Driver{}
)

func newSession(conn *stdio.Conn, o runner.Options) *session {
	s := &session{
		conn: conn, log: o.Log, resumed: o.Resume != "", check: o.Check,
		questions: turn.NewQuestions(o.Ask), replies: turn.NewReplies(conn.Write, o.Log),
		skipped: turn.Skipped{Log: o.Log}, read: make(chan struct{}), id: o.Resume,
	}
	go s.readAll() // ends with the agent's output; Close waits for it
	return s
}
