package harnessmain

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"

	"den/internal/agent/harness"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/remote"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
	"den/internal/session/home"
)

// spawning is how a harness starts its agent's processes, and ends what an
// earlier harness left.
type spawning interface {
	runner.Spawner
	Clean(ctx context.Context) (int, error)
}

// place is where an agent lives: here, or in its box.
type place struct {
	spawn spawning // starts its processes there
	// relay serves who connects to the harness's socket there, if that is not on
	// this machine; or nil. See harness.Options.
	relay func(ctx context.Context, serve func(net.Conn), trouble func(error))
	close func() error // lets go of it
}

func openPlace(c harness.Config, here local.Spawner, environ []string) (place, error) {
	if c.Box == nil {
		return place{spawn: here, close: func() error { return nil }}, nil
	}
	box, err := openBox(c, environment.Getter(environ))
	if err != nil {
		return place{}, err
	}
	exec := func(ctx context.Context, e provider.ExecSpec) (int, error) {
		return box.Exec(ctx, c.Box.Session, provider.Config{WorkDir: c.Dir}, e)
	}
	den := container.Den
	if c.Box.Kind == kubernetes.Kind {
		den = kubernetes.Den
	}
	at := place{spawn: remote.Spawner{Exec: exec, Den: den, Mark: here.Mark, Env: chosen(environ, c.Box.Env)}, close: box.Close}
	if pods, ok := box.(*kubernetes.Provider); ok {
		at.relay = func(ctx context.Context, serve func(net.Conn), trouble func(error)) {
			pods.Relay(ctx, c.Box.Session, serve, trouble)
		}
	}
	return at, nil
}

// openedBox is a place beside which a harness runs.
type openedBox interface {
	provider.Execer
	Close() error
}

func openBox(c harness.Config, getenv func(string) string) (openedBox, error) {
	root := home.Home{Path: c.Box.Home, Explicit: true}
	known := func(name string) string {
		if value, ok := c.Box.EngineEnv[name]; ok {
			return value
		}
		return getenv(name)
	}
	if c.Box.Kind != kubernetes.Kind {
		return container.Open(container.Options{
			Home: root, Owner: c.Box.Owner, Binary: c.Den, Version: build.Version, Engine: c.Box.Engine, Brand: c.Box.Brand, Getenv: known,
		})
	}
	// The cluster around this process is found by its own variables.
	for name, value := range c.Box.EngineEnv {
		if err := os.Setenv(name, value); err != nil {
			return nil, fault.Errorf(fault.Internal, "set %s: %w", name, err)
		}
	}
	at := c.Box.Cluster
	return kubernetes.Open(kubernetes.Options{
		Home: root, Owner: c.Box.Owner, Binary: c.Den, Version: build.Version, Getenv: known,
		Cluster: kubernetes.Cluster{Kubeconfig: workspace.Path(at.Kubeconfig), Context: at.Context, Namespace: at.Namespace},
	})
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

// confinedSpawn starts an agent's processes in its sandbox, in which there is
// the harness's socket.
func confinedSpawn(c harness.Config, dir string, here local.Spawner, getenv func(string) string) (local.Spawner, error) {
	socket, err := c.SocketPath(dir, getenv)
	if err != nil {
		return here, err
	}
	p := *c.Sandbox
	p.Sockets = append(slices.Clone(p.Sockets), socket)
	if err := p.Prepare(); err != nil {
		return here, err
	}
	here.Wrap = func(argv []string) []string { return p.Wrap(c.Den, argv) }
	return here, nil
}
