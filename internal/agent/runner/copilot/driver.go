package copilot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	"den/internal/base/fault"
)

// protocolVersion is that of the server mode which this driver speaks.
const protocolVersion = 3

// Driver starts Copilot CLI.
type Driver struct {
	// Getenv finds variables of the environment that the agent inherits, where
	// Options.Env does not have them; or nil. In its server mode the CLI does
	// not look itself for a model of one's own: see provider.
	Getenv func(string) string
}

// Name is the vendor's.
func (Driver) Name() string { return "copilot" }

// Open starts the CLI and opens a session.
func (d Driver) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	if keys := slices.Sorted(maps.Keys(o.Extra)); len(keys) > 0 {
		return nil, fault.Errorf(fault.Usage, "start copilot: unknown option '%s'", keys[0])
	}
	argv := o.Command
	if len(argv) == 0 {
		argv = []string{"copilot"}
	}
	argv = append(slices.Clone(argv), "--headless", "--no-auto-update", "--stdio")
	conn, err := stdio.OpenFramed(ctx, o, runner.Command{Argv: argv, Dir: o.Dir, Env: o.Env})
	if err != nil {
		return nil, err
	}
	s := newSession(conn, o)
	s.provider, s.skills = d.provider(o), d.skillDirs(o)
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sessionParams are those of session.create and session.resume.
type sessionParams struct {
	SessionID         string         `json:"sessionId,omitempty"`
	ClientName        string         `json:"clientName"`
	Model             string         `json:"model,omitempty"`
	ReasoningEffort   string         `json:"reasoningEffort,omitempty"`
	SystemMessage     *systemMessage `json:"systemMessage,omitempty"`
	Provider          *provider      `json:"provider,omitempty"`
	WorkingDirectory  string         `json:"workingDirectory"`
	Streaming         bool           `json:"streaming"`
	RequestPermission bool           `json:"requestPermission"`

	Servers          map[string]toolServer `json:"mcpServers,omitempty"`
	ExcludedTools    []string              `json:"excludedTools,omitempty"`
	SkillDirectories []string              `json:"skillDirectories,omitempty"`
	InfiniteSessions *infiniteSessions     `json:"infiniteSessions,omitempty"`
}

// infiniteSessions is whether the agent shortens the conversation by itself.
type infiniteSessions struct {
	Enabled bool `json:"enabled"`
}

type toolServer struct {
	Type    string            `json:"type"` // "local"
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Tools   []string          `json:"tools"`
}

// toolsOf are the agent's own tools by what they can do.
var toolsOf = map[permission.Kind][]string{
	permission.Execute:  {"bash", "write_bash", "read_bash", "stop_bash", "list_bash", "powershell", "task"},
	permission.Fetch:    {"web_fetch", "web_search"},
	permission.Question: {"ask_user"},
}

// setTools says which tools the agent has and has not.
func (p *sessionParams) setTools(o runner.Options) {
	for _, s := range o.Servers {
		if p.Servers == nil {
			p.Servers = map[string]toolServer{}
		}
		p.Servers[s.Name] = toolServer{Type: "local", Command: s.Command[0], Args: s.Command[1:], Env: s.Env, Tools: []string{"*"}}
	}
	for _, kind := range o.Without {
		p.ExcludedTools = append(p.ExcludedTools, toolsOf[kind]...)
	}
	if o.KeepWhole {
		p.InfiniteSessions = &infiniteSessions{}
	}
}

type systemMessage struct {
	Mode    string `json:"mode"`
	Content string `json:"content"`
}

// open shakes hands and makes or resumes the session.
func (s *session) open(ctx context.Context) error {
	var hello struct {
		ProtocolVersion int    `json:"protocolVersion"`
		Version         string `json:"version"`
	}
	if err := s.call(ctx, "connect", struct{}{}, &hello); err != nil {
		return err
	}
	if hello.ProtocolVersion != protocolVersion {
		return &runner.Failure{Class: runner.Bug, Message: fmt.Sprintf("copilot %s speaks version %d of its protocol; den speaks %d", hello.Version, hello.ProtocolVersion, protocolVersion)}
	}
	if err := s.checkLogin(ctx); err != nil {
		return err
	}
	params := sessionParams{
		ClientName: "den", Model: s.options.Model, Provider: s.provider, ReasoningEffort: s.options.Thinking,
		WorkingDirectory: s.options.Dir, Streaming: true, RequestPermission: true, SkillDirectories: s.skills,
	}
	if params.Model == "" && s.provider != nil {
		params.Model = s.provider.model
	}
	if s.options.SystemPrompt != "" {
		params.SystemMessage = &systemMessage{Mode: "append", Content: s.options.SystemPrompt}
		if s.options.OnlyPrompt {
			params.SystemMessage.Mode = "replace"
		}
	}
	params.setTools(s.options)
	method := "session.create"
	if s.options.Resume != "" {
		method, params.SessionID = "session.resume", s.options.Resume
	}
	var opened struct {
		SessionID  string `json:"sessionId"`
		ModelState struct {
			ModelID string `json:"modelId"`
		} `json:"modelState"`
	}
	err := s.call(ctx, method, params, &opened)
	var f *runner.Failure
	switch {
	case errors.As(err, &f) && f.Class == runner.Bug && s.options.Resume != "":
		return &runner.Failure{Class: runner.NoSession, Message: f.Message}
	case err != nil:
		return err
	case opened.SessionID == "":
		return &runner.Failure{Class: runner.Bug, Message: "copilot made a session without an id"}
	}
	s.mu.Lock()
	s.id = opened.SessionID
	s.mu.Unlock()
	s.model = opened.ModelState.ModelID
	return nil
}

// call makes a request; an error of the agent's is a Failure.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	err := s.peer.Call(ctx, method, params, result)
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return err
	}
	return &runner.Failure{Class: runner.Bug, Message: answer.Message}
}

// checkLogin asks the agent whether somebody is logged in. Without, only a model
// of one's own works; the agent would say so at the first prompt, and only in
// words.
func (s *session) checkLogin(ctx context.Context) error {
	if s.provider != nil {
		return nil
	}
	var status struct {
		IsAuthenticated bool   `json:"isAuthenticated"`
		StatusMessage   string `json:"statusMessage"`
	}
	if err := s.call(ctx, "auth.getStatus", struct{}{}, &status); err != nil {
		return err
	}
	if !status.IsAuthenticated {
		message := "nobody is logged in: run 'copilot login', or set COPILOT_PROVIDER_BASE_URL"
		if status.StatusMessage != "" {
			message = status.StatusMessage + ": " + message
		}
		return &runner.Failure{Class: runner.Auth, Message: message}
	}
	return nil
}

// provider is a model of one's own in place of the vendor's service. The CLI's
// other modes find it in their environment; to its server it must be told.
type provider struct {
	Type        string `json:"type,omitempty"`
	WireAPI     string `json:"wireApi,omitempty"`
	BaseURL     string `json:"baseUrl"`
	APIKey      string `json:"apiKey,omitempty"`
	BearerToken string `json:"bearerToken,omitempty"`

	model string
}

// provider reads the variables that 'copilot help environment' documents. It
// returns nil where there is no such model.
func (d Driver) provider(o runner.Options) *provider {
	get := d.environment(o)
	p := &provider{
		Type: get("COPILOT_PROVIDER_TYPE"), WireAPI: get("COPILOT_PROVIDER_WIRE_API"), BaseURL: get("COPILOT_PROVIDER_BASE_URL"),
		APIKey: get("COPILOT_PROVIDER_API_KEY"), BearerToken: get("COPILOT_PROVIDER_BEARER_TOKEN"), model: get("COPILOT_MODEL"),
	}
	if p.BaseURL == "" {
		return nil
	}
	return p
}

// environment finds variables as the agent has them.
func (d Driver) environment(o runner.Options) func(string) string {
	return func(name string) string {
		if value, has := o.Env[name]; has || d.Getenv == nil {
			return value
		}
		return d.Getenv(name)
	}
}

// skillDirs are the directories of skills that there are, the user's and the
// project's. The CLI's other modes find them; to its server they must be told.
func (d Driver) skillDirs(o runner.Options) []string {
	get := d.environment(o)
	home := get("HOME")
	own := get("COPILOT_HOME")
	if own == "" && home != "" {
		own = filepath.Join(home, ".copilot")
	}
	var dirs []string
	for _, place := range []struct{ in, below string }{
		{own, "skills"}, {home, ".agents/skills"}, {o.Dir, ".copilot/skills"}, {o.Dir, ".agents/skills"},
	} {
		dir := filepath.Join(place.in, place.below)
		if info, err := os.Stat(dir); place.in != "" && err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
