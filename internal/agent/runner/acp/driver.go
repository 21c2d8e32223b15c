package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	"den/internal/base/fault"
)

// The keys of runner.Options.Extra that this driver knows.
const (
	ExtraMode = "mode"        // the session's mode, where the agent has modes
	ExtraAuth = "auth_method" // the way to log in, for agents that must be told before a session
)

// Driver speaks ACP with any agent.
type Driver struct {
	Version string // den's, for the agent's logs

	// Files offers the agent to read and write text files. Only for an agent
	// whose directory is one of this machine.
	Files bool
	// Terminals runs commands for the agent; nil offers none.
	Terminals Terminals

	// SumsUsage is for agents that count the tokens of the whole session in
	// the answer of each turn.
	SumsUsage bool
}

// Name is "acp".
func (Driver) Name() string { return "acp" }

// Open starts the agent and opens a session.
func (d Driver) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	if len(o.Command) == 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "start an ACP agent: no command is given"), "set the agent's command, for example 'opencode acp'")
	}
	for _, key := range slices.Sorted(maps.Keys(o.Extra)) {
		if key != ExtraMode && key != ExtraAuth {
			return nil, fault.Hintf(fault.Errorf(fault.Usage, "start an ACP agent: unknown option '%s'", key), "there are '%s' and '%s'", ExtraMode, ExtraAuth)
		}
	}
	files, err := d.openFiles(o.Dir)
	if err != nil {
		return nil, err
	}
	conn, err := stdio.Open(ctx, o, runner.Command{Argv: o.Command, Dir: o.Dir, Env: o.Env})
	if err != nil {
		files.close()
		return nil, err
	}
	s := newSession(d, o, conn, files)
	s.workers.Go(func() { s.peer.Read(s.handle) })
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, failureOf(err, s.login)
	}
	return s, nil
}

func newSession(d Driver, o runner.Options, conn *stdio.Conn, files *files) *session {
	s := &session{driver: d, options: o, conn: conn, peer: jsonrpc.New(conn), files: files, busy: make(chan struct{}, maxRequests), asked: map[string]context.CancelFunc{}, terminals: map[string]bool{}}
	s.skipped.Log = o.Log
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.closeOnce = sync.OnceValue(s.close)
	return s
}

// open shakes hands and makes or resumes the session.
func (s *session) open(ctx context.Context) error {
	var h hello
	if err := s.call(ctx, sdk.AgentMethodInitialize, s.initialize(), &h); err != nil {
		return err
	}
	s.login = h.AuthMethods
	if h.ProtocolVersion != sdk.ProtocolVersionNumber {
		return &runner.Failure{Class: runner.Bug, Message: fmt.Sprintf("%s %s speaks version %d of ACP; den speaks %d", h.AgentInfo.Name, h.AgentInfo.Version, h.ProtocolVersion, sdk.ProtocolVersionNumber)}
	}
	if method := s.options.Extra[ExtraAuth]; method != "" {
		if err := s.call(ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: method}, nil); err != nil {
			return err
		}
	}
	got, err := s.begin(ctx, h)
	if err != nil {
		return err
	}
	id := firstOf(got.SessionID, s.options.Resume)
	s.mu.Lock()
	s.id = id
	s.mu.Unlock()
	if id == "" {
		return &runner.Failure{Class: runner.Bug, Message: "the agent made a session without an id"}
	}
	return s.configure(ctx, got)
}

// initialize says who den is and what it really does for an agent.
func (s *session) initialize() sdk.InitializeRequest {
	version := firstOf(s.driver.Version, "dev")
	return sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "den", Version: version},
		ClientCapabilities: sdk.ClientCapabilities{
			Fs:       sdk.FileSystemCapabilities{ReadTextFile: s.driver.Files, WriteTextFile: s.driver.Files},
			Terminal: s.driver.Terminals != nil,
		},
	}
}

// begin makes a session, or resumes one: by session/resume where the agent has
// it, which tells no history, else by session/load.
func (s *session) begin(ctx context.Context, h hello) (opened, error) {
	var got opened
	id, dir := sdk.SessionId(s.options.Resume), s.options.Dir
	if id == "" {
		s.introduce = s.options.SystemPrompt
		err := s.call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: dir, McpServers: s.servers()}, &got)
		return got, err
	}
	if hasObject(h.AgentCapabilities.SessionCapabilities.Resume) {
		err := s.call(ctx, sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{SessionId: id, Cwd: dir, McpServers: s.servers()}, &got)
		if !isMethodNotFound(err) {
			return got, asNoSession(failureOf(err, s.login))
		}
	}
	if !h.AgentCapabilities.LoadSession {
		return got, &runner.Failure{Class: runner.NoSession, Message: fmt.Sprintf("%s cannot resume sessions", firstOf(h.AgentInfo.Name, "the agent"))}
	}
	err := s.call(ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{SessionId: id, Cwd: dir, McpServers: s.servers()}, &got)
	if err != nil {
		return got, asNoSession(failureOf(err, s.login))
	}
	return got, s.awaitHistory(ctx)
}

// servers are the tools that the agent gets beside its own. Every agent can
// start those that are processes.
func (s *session) servers() []sdk.McpServer {
	all := []sdk.McpServer{} // not null, which agents refuse
	for _, t := range s.options.Servers {
		server := &sdk.McpServerStdio{Name: t.Name, Command: t.Command[0], Args: t.Command[1:], Env: []sdk.EnvVariable{}}
		for _, key := range slices.Sorted(maps.Keys(t.Env)) {
			server.Env = append(server.Env, sdk.EnvVariable{Name: key, Value: t.Env[key]})
		}
		all = append(all, sdk.McpServer{Stdio: server})
	}
	return all
}

const (
	// fence is a method that no agent has: its answer comes after what the
	// agent sent before.
	fence = "_den/fence"
	// fenceLimit is for an agent that does not answer what it does not know.
	fenceLimit = 10 * time.Second
)

// awaitHistory lets the history of a loaded session go by. The protocol wants
// it before the answer to session/load; Gemini CLI sends it after, where it
// would be taken for what the agent says in the next turn. It has ended when
// the agent answers twice with nothing in between.
func (s *session) awaitHistory(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, fenceLimit)
	defer cancel()
	for last := -1; last != s.countUpdates(); {
		last = s.countUpdates()
		err := s.call(limited, fence, struct{}{}, nil)
		var answer *jsonrpc.Error
		switch {
		case err == nil || errors.As(err, &answer):
		case limited.Err() != nil && ctx.Err() == nil:
			s.options.Log("the agent does not answer an unknown request: its history may be taken for the next answer")
			return nil
		default:
			return err
		}
	}
	return nil
}

func hasObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

func isMethodNotFound(err error) bool {
	var answer *jsonrpc.Error
	return errors.As(err, &answer) && answer.Code == jsonrpc.CodeMethodNotFound
}

// configure sets the model, how hard to think and the mode.
func (s *session) configure(ctx context.Context, got opened) error {
	s.setModel(firstOf(got.Models.Current, optionOf(got.ConfigOptions, "model").current()))
	for _, want := range []struct{ what, value string }{
		{"model", s.options.Model}, {"thought_level", s.options.Thinking}, {"mode", s.options.Extra[ExtraMode]},
	} {
		if want.value == "" {
			continue
		}
		if err := s.set(ctx, got, want.what, want.value); err != nil {
			return settingError(want.what, want.value, got, failureOf(err, s.login))
		}
	}
	return nil
}

// set changes one setting, by the way that the agent offers for it.
func (s *session) set(ctx context.Context, got opened, what, value string) error {
	id := sdk.SessionId(s.ID())
	option := optionOf(got.ConfigOptions, what)
	var method string
	var params any
	switch {
	case what == "mode" && got.Modes.Current != "":
		if got.Modes.Current == value {
			return nil
		}
		method, params = sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{SessionId: id, ModeId: sdk.SessionModeId(value)}
	case option.ID != "":
		if option.current() == value {
			return nil
		}
		method, params = sdk.AgentMethodSessionSetConfigOption, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
			SessionId: id, ConfigId: sdk.SessionConfigId(option.ID), Value: sdk.SessionConfigValueId(value),
		}}
	case what == "model" && got.Models.Current != "":
		if got.Models.Current == value {
			return nil
		}
		method, params = sdk.AgentMethodSessionSetModel, sdk.UnstableSetSessionModelRequest{SessionId: id, ModelId: sdk.UnstableModelId(value)}
	default:
		s.options.Log(fmt.Sprintf("the agent lets nobody choose its %s: '%s' is not set", what, value))
		return nil
	}
	if err := s.call(ctx, method, params, nil); err != nil {
		return err
	}
	if what == "model" {
		s.setModel(value)
	}
	return nil
}

// optionOf finds the setting of a category, or named so.
func optionOf(options []configOption, what string) configOption {
	for _, o := range options {
		if o.Category == what {
			return o
		}
	}
	for _, o := range options {
		if o.ID == what {
			return o
		}
	}
	return configOption{}
}

// settingError says which values there are, where the agent told.
func settingError(what, value string, got opened, err error) error {
	var f *runner.Failure
	if !errors.As(err, &f) || f.Class != runner.Bug {
		return err
	}
	said := fmt.Sprintf("set the %s to '%s': %s", what, value, f.Message)
	var have []string
	for _, m := range got.Models.Available {
		have = append(have, m.ID)
	}
	if what == "model" && len(have) > 0 {
		said += "; it has " + strings.Join(have, ", ")
	}
	return &runner.Failure{Class: f.Class, Message: said}
}
