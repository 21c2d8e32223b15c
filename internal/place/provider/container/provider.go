package container

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session/home"
)

// Kind is the name of this provider in a workspace file.
const Kind = "container"

// Options says where sessions run and whose they are.
type Options struct {
	Home    home.Home
	Owner   string // whose sessions, containers and images these are
	Binary  string // den, as an absolute path; static, because it runs in any image
	Version string // this build's, for hosts to know who calls
	// Grace is how long each way of asking a session to end may take before
	// the next, harder one; 0 means 3 seconds.
	Grace time.Duration
	// Engine is the engine's socket, as a path or a unix:// address; "" means
	// that of DOCKER_HOST or CONTAINER_HOST, or the first usual one that answers.
	Engine string
	Brand  string              // Podman or Docker: no other is looked for; "" means either
	Getenv func(string) string // or nil for this process's environment
}

// Provider runs sessions in containers. What does not begin or end one is done
// as for den's own sessions, because that is what runs in there.
type Provider struct {
	Options
	*sessions
	engine *engine
	images flights // by reference
}

// sessions hides the name of the embedded provider, whose Options are ours.
type sessions struct{ *native.Provider }

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Postmortem = (*Provider)(nil)
	_ provider.Watcher    = (*Provider)(nil)
	_ provider.Readier    = (*Provider)(nil)
	_ provider.Audience   = (*Provider)(nil)
	_ provider.Pruner     = (*Provider)(nil)
	_ provider.Observer   = (*Provider)(nil)
	_ provider.Preparer   = (*Provider)(nil)
	_ provider.Imager     = (*Provider)(nil)
	_ provider.Stager     = (*Provider)(nil)
	_ provider.Execer     = (*Provider)(nil)
)

// Open returns the provider. No engine is asked yet.
func Open(o Options) (*Provider, error) {
	if o.Owner == "" {
		return nil, fault.Errorf(fault.Usage, "open container provider: no owner is given")
	}
	if err := checkBinary(o.Binary); err != nil {
		return nil, fmt.Errorf("open container provider: %w", err)
	}
	inner, err := native.Open(native.Options{
		Home: o.Home, Binary: o.Binary, Version: o.Version, Grace: o.Grace,
		// A Home may hold sessions outside containers of the same owner, which
		// are not for this provider to list or to stop.
		Owner: o.Owner + "@container",
	})
	if err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Provider{Options: o, sessions: &sessions{inner}, engine: &engine{configured: o.Engine, brand: o.Brand, getenv: o.Getenv}}, nil
}

// Close lets go of the engine. Sessions go on.
func (p *Provider) Close() error { return p.engine.close() }

// checkBinary refuses a den that needs libraries of an image.
func checkBinary(path string) error {
	if !filepath.IsAbs(path) {
		return fault.Errorf(fault.Usage, "den's binary '%s' is not an absolute path", path)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fault.Errorf(fault.Usage, "den's binary: %w", err)
	}
	defer f.Close() // Best effort: it was only read.
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			return fault.Hintf(fault.Errorf(fault.Usage, "den's binary %s is not static: images without its libraries could not run it", path), "build it with CGO_ENABLED=0, as 'make build' does")
		}
	}
	return nil
}

// killed is how a command ended whose host died without closing the record: the
// host is its container's first process, and the kernel kills all others with it.
const killed = syscall.SIGKILL

// Exit tells how the session's command ended.
func (p *Provider) Exit(ctx context.Context, name string) (*provider.Exit, error) {
	e, err := p.sessions.Exit(ctx, name)
	return knownExit(e), err
}

// knownExit fills in how a command ended of which nobody wrote it down.
func knownExit(e *provider.Exit) *provider.Exit {
	if e != nil && e.Code < 0 {
		e.Code, e.Signal = 128+int(killed), "SIGKILL"
	}
	return e
}

// Observe answers for all sessions; the engine is not asked.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	all, err := p.sessions.Observe(ctx, prefix)
	for _, o := range all {
		knownExit(o.Exit)
	}
	return all, err
}
