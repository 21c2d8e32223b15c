package dend

import (
	"context"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/harness"
	"den/internal/harness/ipc"
	"den/internal/home"
	"den/internal/provider"
	"den/internal/provider/container"
	"den/internal/runner"
	"den/internal/runner/acp"
	"den/internal/runner/local"
	"den/internal/runner/remote"
	"den/internal/workspace"
)

// isBoxed reports whether an agent's harness runs on this machine and its own
// processes in a container.
func isBoxed(ag *workspace.Agent) bool {
	return ag.IsMind() && ag.SessionProvider == container.Kind
}

// boxLimit bounds the end of a container.
const boxLimit = 30 * time.Second

// endBox ends the container beside a session, if there is one.
func (d *daemon) endBox(kind, session string) {
	ctx, cancel := context.WithTimeout(context.Background(), boxLimit)
	defer cancel()
	p, err := d.providers.get(kind)
	if err == nil {
		err = p.Stop(ctx, session)
	}
	if err != nil {
		log.Printf("end the container of session %s: %v", session, err)
	}
}

// endBoxes ends the containers of agents that have ended: one outlives a
// harness that ended by itself.
func (d *daemon) endBoxes() {
	d.mu.Lock()
	members := slices.Collect(maps.Values(d.members))
	d.mu.Unlock()
	var ending sync.WaitGroup
	for _, m := range members {
		if m.box != "" {
			ending.Go(func() { d.endBox(m.box, m.SessionName()) })
		}
	}
	ending.Wait()
}

// engineVariables are those by which a container engine is found, and which a
// session does not inherit.
var engineVariables = []string{"DOCKER_HOST", "CONTAINER_HOST"}

// boxOf is what the harness of a boxed agent has to know of its box.
func (d *daemon) boxOf(ws *workspace.Workspace, ag *workspace.Agent, session string) (*harness.Box, error) {
	engine, problems := container.DecodeEngine(ws.Session.Tables.Of(container.Kind))
	if len(problems) > 0 {
		return nil, problems.In(ws.Path)
	}
	b := &harness.Box{
		Session: session, Owner: d.registration.ID, Home: d.home.Path, Engine: engine.Socket, Brand: engine.Engine,
		Env: append(slices.Concat(slices.Sorted(maps.Keys(ag.Env.Values)), slices.Sorted(maps.Keys(ag.Env.Secrets))), "DEN_AGENT", "DEN_WORKSPACE_NAME", "DEN_POOL_INDEX"),
	}
	for _, name := range engineVariables {
		if value := d.getenv(name); value != "" {
			if b.EngineEnv == nil {
				b.EngineEnv = map[string]string{}
			}
			b.EngineEnv[name] = value
		}
	}
	return b, nil
}

// withSocket shares the directory of the harness's socket with the box. It is
// made here: what is mounted must be there before.
func (d *daemon) withSocket(options any, key string) (any, error) {
	spec, ok := options.(container.Spec)
	if !ok {
		return nil, fault.Errorf(fault.Internal, "a box is described by %T", options)
	}
	socket, err := ipc.BoxSocketPath(d.mindDir(key), d.getenv)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "make the directory of the agent's socket: %w", err)
	}
	spec.Mounts = append(slices.Clone(spec.Mounts), workspace.Path(dir))
	return spec, nil
}

// spawning is how a harness starts its agent's processes, and ends what an
// earlier harness left.
type spawning interface {
	runner.Spawner
	Clean(ctx context.Context) (int, error)
}

// openPlace returns what starts the agent's processes where the agent lives:
// here, or in its box. closePlace lets go of that.
func openPlace(c harness.Config, here local.Spawner, environ []string) (s spawning, closePlace func() error, err error) {
	if c.Box == nil {
		return here, func() error { return nil }, nil
	}
	getenv := lookup(environ)
	box, err := container.Open(container.Options{
		Home: home.Home{Path: c.Box.Home, Explicit: true}, Owner: c.Box.Owner, Binary: c.Den, Version: Version, Engine: c.Box.Engine, Brand: c.Box.Brand,
		Getenv: func(name string) string {
			if value, ok := c.Box.EngineEnv[name]; ok {
				return value
			}
			return getenv(name)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	exec := func(ctx context.Context, e provider.ExecSpec) (int, error) {
		return box.Exec(ctx, c.Box.Session, provider.Config{WorkDir: c.Dir}, e)
	}
	return remote.Spawner{Exec: exec, Den: container.Den, Mark: here.Mark, Env: chosen(environ, c.Box.Env)}, box.Close, nil
}

// chosen are the variables of an environment that have one of the names.
func chosen(environ, names []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && slices.Contains(names, name) {
			env[name] = value
		}
	}
	return env
}

// forBox leaves out what a driver does on this machine for its agent: one that
// lives in a container must not read files or run commands outside of it.
func forBox(d runner.Driver) runner.Driver {
	agent, ok := d.(acp.Driver)
	if !ok {
		return d
	}
	agent.Files, agent.Terminals = false, nil
	return agent
}
