package container

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	api "github.com/moby/moby/api/types/container"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/place/workspace"
	"den/internal/session"
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
	_ provider.OnTerminal = (*Provider)(nil)
	_ provider.Pruner     = (*Provider)(nil)
	_ provider.Preparer   = (*Provider)(nil)
	_ provider.Imager     = (*Provider)(nil)
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

// Spec is what one session's container is made of. It is the `container` table
// of an agent in the workspace file, and the Options of a provider.Config.
type Spec struct {
	Image   string           `key:"image"`   // a reference, or "" where Context builds one
	Context workspace.Path   `key:"context"` // a directory with a Containerfile, or ""
	Memory  string           `key:"memory"`  // such as "512m", or "" for no limit
	PIDs    int              `key:"pids"`    // 0 means no limit
	CPUs    float64          `key:"cpus"`    // 0 means no limit
	Network string           `key:"network"` // "none", "host", "default" or ""
	Mounts  []workspace.Path `key:"mounts"`  // host directories that appear at the same path
}

// specOf returns the container's part of a session's configuration.
func specOf(c provider.Config) (Spec, error) {
	s, ok := c.Options.(Spec)
	if !ok {
		return Spec{}, fault.Errorf(fault.Usage, "no container is described: the session's options are %T", c.Options)
	}
	return s, nil
}

// DecodeSpec reads an agent's `container` table.
func DecodeSpec(a *workspace.Agent) (Spec, workspace.Problems) {
	var s Spec
	t := a.Tables.Container
	problems := t.Decode(&s)
	problems = append(problems, t.OneOf("network", s.Network, "", "none", "host", "default")...)
	if _, err := parseMemory(s.Memory); err != nil {
		problems = append(problems, t.Problem("memory", "agent '%s': 'memory' is such as \"512m\" or \"2g\", not \"%s\"", a.Name, s.Memory))
	}
	for key, negative := range map[string]bool{"pids": s.PIDs < 0, "cpus": s.CPUs < 0} {
		if negative {
			problems = append(problems, t.Problem(key, "agent '%s': '%s' is negative", a.Name, key))
		}
	}
	switch inContainer := a.RunsIn == Kind; {
	case inContainer && s.Image == "" && s.Context == "":
		problems = append(problems, a.Problem("runs_in", "agent '%s' lives in a container: [agents.container] needs an 'image' or a 'context'", a.Name))
	case s.Image != "" && s.Context != "":
		problems = append(problems, t.Problem("context", "agent '%s': 'image' and 'context' exclude each other", a.Name))
	}
	return s, problems
}

// EngineOptions is the `container` table of the file's [session] section.
type EngineOptions struct {
	Engine string `key:"engine"` // Podman, Docker, or "" for what is there
	Socket string `key:"socket"` // of the engine, or ""
}

// DecodeEngine reads the session section's `container` table.
func DecodeEngine(t workspace.Table) (EngineOptions, workspace.Problems) {
	var o EngineOptions
	problems := t.Decode(&o)
	return o, append(problems, t.OneOf("engine", o.Engine, "", Podman, Docker)...)
}

// resources are the limits of a container.
func resources(c Spec) (api.Resources, error) {
	var r api.Resources
	memory, err := parseMemory(c.Memory)
	if err != nil {
		return r, err
	}
	if c.PIDs < 0 {
		return r, fault.Errorf(fault.Usage, "limit of processes %d is below zero", c.PIDs)
	}
	if c.CPUs < 0 || math.IsNaN(c.CPUs) || c.CPUs > 1<<20 {
		return r, fault.Errorf(fault.Usage, "%v is no number of processors", c.CPUs)
	}
	pids := int64(c.PIDs)
	if pids == 0 {
		pids = -1 // engines have a default of their own, which is a limit
	}
	r.Memory, r.PidsLimit, r.NanoCPUs = memory, &pids, int64(c.CPUs*1e9)
	return r, nil
}

var memoryPattern = regexp.MustCompile(`^([0-9]+)([kmg]?)(i?b)?$`)

// parseMemory reads "512m" and the like: k, m and g stand for powers of 1024.
// "" is 0, no limit.
func parseMemory(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if parts := memoryPattern.FindStringSubmatch(strings.ToLower(s)); parts != nil {
		shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30}[parts[2]]
		n, err := strconv.ParseInt(parts[1], 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64>>shift {
			return n << shift, nil
		}
	}
	return 0, fault.Hintf(fault.Errorf(fault.Usage, "memory limit %q is not understood", s), "for example 512m or 2g")
}

// networkMode checks the network that a container gets.
func networkMode(network string) (api.NetworkMode, error) {
	switch network {
	case "none", "host", "default":
		return api.NetworkMode(network), nil
	case "":
		return "default", nil
	}
	return "", fault.Errorf(fault.Usage, "network is none, host or default, not %q", network)
}

// Start begins a session in a new container. Whatever goes wrong before the
// image is there, what ran before under that name is as it was.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	if running, err := p.IsRunning(ctx, name); err != nil {
		return err
	} else if running {
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is running already", name), "stop it first, or choose another name")
	}
	r, err := p.recipe(ctx, name, c, nil)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	return p.sessions.StartWith(ctx, name, c, func(ctx context.Context, root home.Home, spec home.Spec) (home.Dir, *home.Manifest, error) {
		spec.Env = p.environment(spec, c)
		return root.CreateElsewhere(ctx, spec, place{p: p, recipe: r})
	})
}

// Prepare pulls or builds the image.
func (p *Provider) Prepare(ctx context.Context, name string, c provider.Config, progress func(line string)) error {
	_, err := p.Image(ctx, name, c, progress)
	return err
}

// Image is Prepare, and returns the image's reference: a session that was
// started from another one is out of date.
func (p *Provider) Image(ctx context.Context, name string, c provider.Config, progress func(line string)) (ref string, err error) {
	r, err := p.recipe(ctx, name, c, progress)
	if err != nil {
		return "", fmt.Errorf("prepare session '%s': %w", name, err)
	}
	return r.image, nil
}

// recipe checks what is asked for and sees to the image. It tells progress,
// unless that is nil.
func (p *Provider) recipe(ctx context.Context, name string, c provider.Config, progress func(string)) (recipe, error) {
	spec, err := specOf(c)
	r := recipe{name: name, config: c, spec: spec}
	if err == nil {
		err = checkMounts(r.shared())
	}
	if err == nil {
		r.limits, err = resources(spec)
	}
	if err == nil {
		r.net, err = networkMode(spec.Network)
	}
	if err == nil {
		r.traits, err = p.engine.traits(ctx)
	}
	if err == nil {
		r.image, err = p.image(ctx, spec, progress)
	}
	return r, err
}

// environment is what the program gets on top of its image's: nothing of ours
// is right in there.
func (p *Provider) environment(spec home.Spec, c provider.Config) []string {
	return append(session.TerminalEnv(p.Home, spec.Term, c.WorkDir, p.Version), provider.Assignments(c.Env)...)
}

// Stop asks the session's host to end all, and removes the container. A host
// that does not answer ends with its container.
func (p *Provider) Stop(ctx context.Context, name string) error {
	err := p.sessions.Stop(ctx, name)
	if ctx.Err() != nil {
		return fmt.Errorf("stop session '%s': %w", name, ctx.Err())
	}
	switch fault.KindOf(err) {
	case "":
		return p.clearName(ctx, name)
	case fault.Unreachable, fault.Protocol, fault.Timeout:
		if forced := p.removeName(ctx, name); forced != nil {
			return errors.Join(forced, err)
		}
		return p.sessions.Stop(ctx, name) // now its record can be closed
	}
	return err // what is true could not be asked
}

// clearName removes what containers are left of a session that is over.
func (p *Provider) clearName(ctx context.Context, name string) error {
	return p.eachOf(ctx, name, p.clear)
}

// removeName removes the containers of a session, whatever runs in them.
func (p *Provider) removeName(ctx context.Context, name string) error {
	return p.eachOf(ctx, name, func(ctx context.Context, c owned) error { return p.remove(ctx, c.id) })
}

func (p *Provider) eachOf(ctx context.Context, name string, do func(context.Context, owned) error) error {
	containers, err := p.containers(ctx, name)
	if err != nil {
		return fmt.Errorf("stop session '%s': its container may still be there: %w", name, err)
	}
	for _, c := range containers {
		if err := do(ctx, c); err != nil {
			return fmt.Errorf("stop session '%s': %w", name, err)
		}
	}
	return nil
}
