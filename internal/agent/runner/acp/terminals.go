package acp

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/permission"
	"den/internal/agent/runner/jsonrpc"
)

// Terminals run commands for agents. Their ids are unique among all that one
// Terminals makes. The methods may be called at the same time.
type Terminals interface {
	// Create starts a command and returns its terminal's id.
	Create(ctx context.Context, t TerminalSpec) (id string, err error)
	// Output is what the command has printed, and how it ended if it has.
	Output(ctx context.Context, id string) (TerminalOutput, error)
	// Wait returns when the command has ended.
	Wait(ctx context.Context, id string) (TerminalExit, error)
	// Progress is a value that stays the same while the command prints nothing.
	Progress(id string) string
	// Kill ends the command; what it printed can still be read.
	Kill(ctx context.Context, id string) error
	// Release ends the command and forgets the terminal.
	Release(ctx context.Context, id string) error
}

// TerminalSpec is a command that an agent wants to run.
type TerminalSpec struct {
	Argv        []string
	Dir         string            // absolute
	Env         map[string]string // on top of that of whoever runs the agent: the agent's own variables, and the command's
	OutputLimit int               // bytes of output that Output returns at most; 0 means the default
}

// TerminalOutput is what a command printed: the end of it, where it is more
// than the limit.
type TerminalOutput struct {
	Text      string
	Truncated bool
	Exit      *TerminalExit // or nil while it runs
}

// TerminalExit is how a command ended.
type TerminalExit struct {
	Code   int
	Signal string // the name of the signal that ended it, or ""
}

// maxTerminals bounds those that one session has at a time.
const maxTerminals = 32

// createTerminal answers terminal/create. It is asked for, unless the agent
// has asked for that command in this turn.
func (s *session) createTerminal(ctx context.Context, params json.RawMessage) (any, error) {
	var p sdk.CreateTerminalRequest
	if err := s.decodeFor(params, &p, func() string { return string(p.SessionId) }); err != nil {
		return nil, err
	}
	spec, err := s.terminalSpec(p)
	if err != nil {
		return nil, err
	}
	command := quoteWords(spec.Argv)
	r := permission.Request{Tool: sdk.ClientMethodTerminalCreate, Kind: permission.Execute, Command: command, Dir: spec.Dir, Text: command, Input: params}
	if err := s.ask(ctx, r, func(old permission.Request) bool {
		return old.Kind == permission.Execute && slices.Contains(sameCommands(spec.Argv), old.Command)
	}); err != nil {
		return nil, err
	}
	id, err := s.driver.Terminals.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.terminals[id] = true
	s.mu.Unlock()
	return sdk.CreateTerminalResponse{TerminalId: id}, nil
}

func (s *session) terminalSpec(p sdk.CreateTerminalRequest) (TerminalSpec, error) {
	spec := TerminalSpec{Argv: commandArgv(p.Command, p.Args), Dir: s.options.Dir, Env: map[string]string{}}
	maps.Copy(spec.Env, s.options.Env)
	if p.Cwd != nil && *p.Cwd != "" {
		spec.Dir = *p.Cwd
	}
	for _, v := range p.Env {
		spec.Env[v.Name] = v.Value
	}
	if p.OutputByteLimit != nil {
		spec.OutputLimit = *p.OutputByteLimit
	}
	s.mu.Lock()
	many := len(s.terminals) >= maxTerminals
	s.mu.Unlock()
	switch {
	case p.Command == "":
		return spec, invalid("no command is given")
	case !filepath.IsAbs(spec.Dir):
		return spec, invalid("'%s' is not an absolute path", spec.Dir)
	case spec.OutputLimit < 0:
		return spec, invalid("a limit of %d bytes", spec.OutputLimit)
	case many:
		return spec, invalid("%d terminals are open: release some", maxTerminals)
	}
	return spec, nil
}

// commandArgv are the words of a command. Agents that give no arguments mean a
// line for a shell.
func commandArgv(command string, args []string) []string {
	if len(args) == 0 && strings.ContainsAny(command, " \t\n;|&<>$`'\"()") {
		return []string{"sh", "-c", command}
	}
	return append([]string{command}, args...)
}

// sameCommands are the forms in which a command may have been asked for.
func sameCommands(argv []string) []string {
	forms := []string{quoteWords(argv), strings.Join(argv, " ")}
	if n := len(argv); n >= 3 && strings.HasSuffix(argv[n-2], "c") && strings.HasPrefix(argv[n-2], "-") {
		forms = append(forms, argv[n-1]) // of a shell
	}
	return forms
}

// quoteWords writes words as a shell would read them.
func quoteWords(words []string) string {
	var all []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n;|&<>$`'\"()*?[]#~!{}\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		all = append(all, w)
	}
	return strings.Join(all, " ")
}

// terminalOf decodes the parameters of a request about a terminal. An agent
// has no business with terminals that were not made for it.
func (s *session) terminalOf(params json.RawMessage) (string, error) {
	var p sdk.TerminalOutputRequest // all these requests have its members
	if err := s.decodeFor(params, &p, func() string { return string(p.SessionId) }); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminals[p.TerminalId] {
		return "", &jsonrpc.Error{Code: codeNotFound, Message: "no terminal '" + p.TerminalId + "'"}
	}
	return p.TerminalId, nil
}

func (s *session) terminalOutput(ctx context.Context, params json.RawMessage) (any, error) {
	id, err := s.terminalOf(params)
	if err != nil {
		return nil, err
	}
	out, err := s.driver.Terminals.Output(ctx, id)
	if err != nil {
		return nil, err
	}
	answer := sdk.TerminalOutputResponse{Output: out.Text, Truncated: out.Truncated}
	if out.Exit != nil {
		code, signal := out.Exit.members()
		answer.ExitStatus = &sdk.TerminalExitStatus{ExitCode: code, Signal: signal}
	}
	return answer, nil
}

// members are the protocol's two: one of them is set.
func (e TerminalExit) members() (code *int, signal *string) {
	if e.Signal != "" {
		return nil, &e.Signal
	}
	return &e.Code, nil
}

func (s *session) waitForTerminal(ctx context.Context, params json.RawMessage) (any, error) {
	id, err := s.terminalOf(params)
	if err != nil {
		return nil, err
	}
	exit, err := s.driver.Terminals.Wait(ctx, id)
	if err != nil {
		return nil, err
	}
	code, signal := exit.members()
	return sdk.WaitForTerminalExitResponse{ExitCode: code, Signal: signal}, nil
}

func (s *session) killTerminal(ctx context.Context, params json.RawMessage) (any, error) {
	id, err := s.terminalOf(params)
	if err != nil {
		return nil, err
	}
	return sdk.KillTerminalResponse{}, s.driver.Terminals.Kill(ctx, id)
}

func (s *session) releaseTerminal(ctx context.Context, params json.RawMessage) (any, error) {
	id, err := s.terminalOf(params)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.terminals, id)
	s.mu.Unlock()
	return sdk.ReleaseTerminalResponse{}, s.driver.Terminals.Release(ctx, id)
}

// Signs changes when a command of the agent's prints something.
func (s *session) Signs() string {
	s.mu.Lock()
	ids := slices.Sorted(maps.Keys(s.terminals))
	s.mu.Unlock()
	var all []string
	for _, id := range ids {
		all = append(all, id+" "+s.driver.Terminals.Progress(id))
	}
	return strings.Join(all, "\n")
}

// releaseTerminals ends what an agent left running.
func (s *session) releaseTerminals() {
	s.mu.Lock()
	left := s.terminals
	s.terminals = nil
	s.mu.Unlock()
	for id := range left {
		if err := s.driver.Terminals.Release(context.Background(), id); err != nil {
			s.options.Log("release terminal " + id + ": " + err.Error())
		}
	}
}
