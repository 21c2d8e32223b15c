// Package terminals runs the commands of ACP agents in den sessions, so that
// they are recorded and can be watched.
package terminals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/agent/runner/acp"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/place/sandbox"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

const (
	// defaultOutput bounds the output that an agent gets where it sets no limit.
	defaultOutput = 1 << 20
	// killGrace is how long a command may take to end before it is killed.
	killGrace = 2 * time.Second
)

// The labels of sessions that are the terminals of an agent: its name, for
// people, and Terminals.Mark.
const (
	AgentLabel = "den.acp-terminal"
	MarkLabel  = "den.acp-terminal-mark"
)

// Terminals makes the sessions of one agent's commands. A released one keeps
// its record until the Home is cleaned up.
type Terminals struct {
	Home    home.Home
	Options session.Options
	Agent   string   // begins the sessions' names
	Mark    string   // that of the agent's processes, which differs between all agents
	Env     []string // the commands' whole environment, without a terminal's
	// Wrap returns the command that becomes argv in the agent's sandbox; or nil.
	Wrap func(argv []string) []string

	mu     sync.Mutex // guards limits
	limits map[string]int
}

var _ acp.Terminals = (*Terminals)(nil)

// Create starts a command in a session of its own.
func (t *Terminals) Create(ctx context.Context, spec acp.TerminalSpec) (string, error) {
	env := append(session.WithoutTerminal(t.Env), session.TerminalEnv(t.Home, session.DefaultTerm, spec.Dir, t.Options.Version)...)
	env = append(env, home.RunnerMark+"="+t.Mark) // they are the agent's processes, and must not decide for it
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		env = append(env, name+"="+spec.Env[name])
	}
	argv := spec.Argv
	if t.Wrap != nil {
		argv = t.Wrap(argv)
		env = append(env, sandbox.EnvNames+"="+strings.Join(slices.Sorted(maps.Keys(spec.Env)), ","))
	}
	s, m, err := session.Create(ctx, t.Home, home.Spec{
		Name: t.Agent + "-terminal-" + ident.New(time.Now()), Command: argv, Cwd: spec.Dir, Env: env, Term: session.DefaultTerm,
		Cols: session.DefaultCols, Rows: session.DefaultRows, Labels: map[string]string{AgentLabel: t.Agent, MarkLabel: t.Mark},
		RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}, t.Options)
	if err != nil {
		return "", err
	}
	limit := spec.OutputLimit
	if limit <= 0 || limit > defaultOutput {
		limit = defaultOutput
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits == nil {
		t.limits = map[string]int{}
	}
	t.limits[m.ID] = limit
	return s.Dir.ID, nil
}

// EndLeft ends the commands that an earlier process with the same Mark left, when
// it was killed. Nobody would read what they print, or end them.
func (t *Terminals) EndLeft(ctx context.Context) error {
	dirs, err := t.Home.All()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		m, err := d.Inspect()
		if err != nil || !m.Status.Active() || m.Labels[MarkLabel] != t.Mark {
			continue // a record that cannot be read names no agent
		}
		_, err = session.In(d, t.Options).ForceKill(ctx, killGrace)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// find returns the session of a terminal that was not released.
func (t *Terminals) find(id string) (*session.Session, int, error) {
	t.mu.Lock()
	limit, has := t.limits[id]
	t.mu.Unlock()
	if !has {
		return nil, 0, fault.Errorf(fault.NotFound, "find terminal '%s': it is not there, or was released", id)
	}
	return session.In(t.Home.Dir(id), t.Options), limit, nil
}

// Output is what the command has printed as a person reads it: the screen and
// the lines above it.
func (t *Terminals) Output(ctx context.Context, id string) (acp.TerminalOutput, error) {
	s, limit, err := t.find(id)
	if err != nil {
		return acp.TerminalOutput{}, err
	}
	// How it ended first: then the output is not older than the end.
	status, err := s.Status(ctx)
	if err != nil {
		return acp.TerminalOutput{}, err
	}
	shot, err := s.Snapshot(ctx, session.Now(), session.All)
	if err != nil {
		return acp.TerminalOutput{}, err
	}
	var out acp.TerminalOutput
	out.Text, out.Truncated = lastBytes(shot.Screen.Unwrapped(), limit)
	if status.ExitCode != nil {
		out.Exit = &acp.TerminalExit{Code: *status.ExitCode, Signal: status.ExitSignal}
	}
	return out, nil
}

// lastBytes cuts text at its beginning, at the border of a character.
func lastBytes(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	text = text[len(text)-limit:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text, true
}

// Wait returns when the command has ended.
func (t *Terminals) Wait(ctx context.Context, id string) (acp.TerminalExit, error) {
	s, _, err := t.find(id)
	if err != nil {
		return acp.TerminalExit{}, err
	}
	r, err := s.Wait(ctx, wire.Wait{Exit: true})
	if err != nil {
		return acp.TerminalExit{}, err
	}
	if r.ExitCode == nil {
		return acp.TerminalExit{}, fault.Errorf(fault.Internal, "wait for terminal '%s': its host ended and nobody knows how the command did", id)
	}
	return acp.TerminalExit{Code: *r.ExitCode, Signal: r.ExitSignal}, nil
}

// Progress is where the session's log ends. Where that cannot be told, nothing
// new was printed.
func (t *Terminals) Progress(id string) string {
	segment, size, err := t.Home.Dir(id).LogEnd()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", segment, size)
}

// Kill ends the command. Its record stays.
func (t *Terminals) Kill(ctx context.Context, id string) error {
	s, _, err := t.find(id)
	if err != nil {
		return err
	}
	_, err = s.Kill(ctx, killGrace)
	return err
}

// Release ends the command and forgets the terminal. Its record stays.
func (t *Terminals) Release(ctx context.Context, id string) error {
	err := t.Kill(ctx, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.limits, id)
	return err
}
