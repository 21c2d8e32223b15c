package box

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"den/internal/agent/runner/remote"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/process/supervise"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/terminal"
)

// startLimit is how long a terminal may take to start.
const startLimit = 2 * time.Minute

// Place returns where terminals run: in the container.
func (b *Box) Place() terminal.Place { return place{b} }

type place struct{ box *Box }

// Start begins a session whose host runs in the container.
func (p place) Start(ctx context.Context, spec terminal.Spec) (*session.Session, error) {
	b := p.box
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	known, err := b.awake(ctx)
	if err != nil {
		return nil, err
	}
	root, dir := b.Dir.TerminalHome(), filepath.Join(b.Data, datarepo.Sandbox)
	env := session.TerminalEnv(root, session.DefaultTerm, dir, b.Version)
	for name, value := range b.env() {
		env = append(env, name+"="+value)
	}
	d, _, err := root.CreateElsewhere(ctx, home.Spec{
		Name: spec.Name, Command: argv(known.Shell, spec), Cwd: dir, Env: env, Term: session.DefaultTerm,
		Cols: terminal.Cols, Rows: terminal.Rows, Labels: spec.Labels,
		RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit, Sockets: known.Sockets,
	}, hosts{b})
	if err != nil {
		return nil, err
	}
	if b.Registry.Path != "" {
		if err := b.Registry.Add(root, b.Clock()); err != nil {
			b.Log.Warn("the Home of the agent's terminals was not registered", "error", err)
		}
	}
	return session.In(d, p.options(spec.Warn)), nil
}

func (p place) options(warn func(error)) session.Options {
	return session.Options{Version: p.box.Version, Warn: warn}
}

// argv is the command line of a terminal. An agent that asks for bash in an
// image without it gets the shell that there is.
func argv(shell string, spec terminal.Spec) []string {
	if shell == "" {
		shell = "sh"
	}
	if strings.TrimSpace(spec.Command) == "bash" {
		spec.Command = ""
	}
	return terminal.Argv(shell, spec)
}

// Find looks in the Home of the container's terminals.
func (p place) Find(_ context.Context, id string, warn func(error)) (*session.Session, error) {
	return session.Open(p.box.Dir.TerminalHome(), id, p.options(warn))
}

// Remove removes the session's files. One that is not over stays.
func (p place) Remove(_ context.Context, id string) error {
	root := p.box.Dir.TerminalHome()
	gone, err := root.Collect(p.box.Clock(), home.GCOptions{Only: func(other string) bool { return other == id }})
	if len(gone) > 0 {
		err = errors.Join(err, root.Dir(id).RemoveSockets(p.box.known().Sockets))
	}
	return err
}

// Either is a place with the terminals of another one, where the agent lived
// before: they are found, and none is started there.
type Either struct{ Now, Before terminal.Place }

// Start begins a session where the agent lives now.
func (e Either) Start(ctx context.Context, spec terminal.Spec) (*session.Session, error) {
	return e.Now.Start(ctx, spec)
}

// Find looks in both.
func (e Either) Find(ctx context.Context, id string, warn func(error)) (*session.Session, error) {
	s, err := e.Now.Find(ctx, id, warn)
	if fault.KindOf(err) == fault.NotFound {
		return e.Before.Find(ctx, id, warn)
	}
	return s, err
}

// Remove removes it from both: an id is never in two.
func (e Either) Remove(ctx context.Context, id string) error {
	return errors.Join(e.Now.Remove(ctx, id), e.Before.Remove(ctx, id))
}

// discardLimit is how long a host that is of no use may take to end.
const discardLimit = 30 * time.Second

// hosts runs the hosts of terminals in the container, beside its own.
type hosts struct{ box *Box }

var _ home.Elsewhere = hosts{}

// Run starts a host. The command that the engine runs ends as soon as the host
// serves, so no process of the engine waits for a terminal.
func (h hosts) Run(ctx context.Context, at home.Place) error {
	var said bytes.Buffer
	code, err := h.box.exec(ctx, provider.ExecSpec{
		Argv: append([]string{container.Den, holder.Verb}, at.Args...), Dir: "/", Env: variables(at.Env), Stdout: &said, Stderr: &said,
	})
	if err != nil {
		return err
	}
	if code != 0 {
		return fault.Errorf(fault.Internal, "den ended in the container with status %d: %s", code, strings.TrimSpace(said.String()))
	}
	<-ctx.Done() // it serves, and has told its creator, who ends this
	return ctx.Err()
}

// Discard ends the host, wherever it is in its start.
func (h hosts) Discard(at home.Place) error {
	ctx, cancel := context.WithTimeout(context.Background(), discardLimit)
	defer cancel()
	_, err := supervise.Sweep(ctx, home.HostMark+"="+at.Dir.ID)
	return err
}

func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			all[name] = value
		}
	}
	return all
}

// Spawner starts hooks in the container. What it started ends with whoever
// started it, in there too.
type Spawner struct {
	remote.Spawner
	box *Box
}

// Spawner returns what starts hooks in the container.
func (b *Box) Spawner() Spawner {
	return Spawner{box: b, Spawner: remote.Spawner{
		Exec: func(ctx context.Context, e provider.ExecSpec) (int, error) {
			if _, err := b.awake(ctx); err != nil {
				return 0, err
			}
			return b.exec(ctx, e)
		},
		Den: container.Den, Mark: b.Mark, Env: b.env(),
	}}
}

// Clean ends what an earlier Spawner left. In a container that does not run
// nothing is left, and it is not started for that.
func (s Spawner) Clean(ctx context.Context) (int, error) {
	running, err := s.box.Containers.IsRunning(ctx, boxName)
	if err != nil || !running {
		return 0, err
	}
	return s.Spawner.Clean(ctx)
}
