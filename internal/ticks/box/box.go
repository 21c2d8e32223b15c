package box

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/agent/runner/remote"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/workspace"
	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/terminal"
)

// Owner is whose containers and images these are, in the Home of one instance.
const Owner = "kernel"

// boxName is the name of the container's session. There is one in a Home.
const boxName = "box"

// Containers is the container provider.
type Containers interface {
	provider.Lifecycle
	provider.Imager
	provider.Execer
	provider.InHome
	IsRunning(ctx context.Context, name string) (bool, error)
	Prune(ctx context.Context, age time.Duration) (container.Pruned, error)
}

// Options say whose container it is and how it is made.
type Options struct {
	Name       string       // of the instance
	Data       string       // the data repository, absolute; the container has it at the same path
	Dir        instance.Dir // what den keeps of the instance
	Containers Containers
	Settings   Settings
	Mark       string // of what hooks start
	Version    string
	Registry   home.Registry // that learns of the terminals' Home, or zero: none
	Getenv     func(string) string
	Log        *slog.Logger
	Clock      func() time.Time
}

// Box is the container of one instance.
type Box struct {
	Options
	turn chan struct{} // room for the one who looks at the container, and starts or ends it
}

// New returns the container of an instance. Nothing is asked or started.
func New(o Options) *Box { return &Box{Options: o, turn: make(chan struct{}, 1)} }

// take waits for the turn to start or end the container.
func (b *Box) take(ctx context.Context) (done func(), err error) {
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// known is the container that was started last. A record that cannot be read
// is none: the container is made anew.
func (b *Box) known() instance.Box {
	known, err := b.Dir.LoadBox()
	if err != nil {
		b.Log.Error("what is known of the agent's container cannot be read; it is made anew", "error", err)
	}
	return known
}

// source is what the container is to be made from.
func (b *Box) source() container.Spec {
	if b.Settings.Image != "" {
		return container.Spec{Image: b.Settings.Image}
	}
	return container.Spec{Context: workspace.Path(filepath.Join(b.Data, datarepo.ContainerDir))}
}

// config is that of the container. from has its image, or what that is built
// from.
func (b *Box) config(from container.Spec, sockets string) provider.Config {
	s := b.Settings
	from.Memory, from.PIDs, from.CPUs, from.Network = s.Memory, s.PIDs, s.CPUs, s.Network
	for _, dir := range append(append([]string{}, s.Mounts...), b.sessions(), sockets) {
		from.Mounts = append(from.Mounts, workspace.Path(dir))
	}
	argv := s.Init
	if len(argv) == 0 {
		argv = []string{container.Den, holder.Verb, holder.ModePlace}
	}
	return provider.Config{Argv: argv, WorkDir: b.Data, Env: b.env(), Options: from}
}

// env are the variables that everything in the container has.
func (b *Box) env() map[string]string {
	return map[string]string{"DATA_DIR": b.Data, NameVariable: b.Name, BoxVariable: "1"}
}

// Variables of an agent's terminals and hooks.
const (
	NameVariable = "DEN_KERNEL"     // the name of the instance
	BoxVariable  = "DEN_KERNEL_BOX" // set in its container, which knows of no other instance
)

// sessions is the directory of the terminals' sessions. The names beside it are
// not the container's to change.
func (b *Box) sessions() string { return filepath.Join(b.Dir.TerminalHome().Path, "sessions") }

// makeDirs makes what the container shares, and returns the directory for
// sockets.
func (b *Box) makeDirs() (sockets string, err error) {
	sockets, err = home.RunPath("kernel-box\x00"+b.Dir.Path, b.Getenv)
	if err != nil {
		return "", err
	}
	for _, dir := range []string{b.sessions(), sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fault.Errorf(fault.KindOf(err), "make a directory for the agent's container: %w", err)
		}
	}
	return sockets, nil
}

// digest stands for all that a container is made from. den is part of it: its
// binary is mounted, and stays what it was.
func (b *Box) digest(image string) string {
	text, err := json.Marshal(struct {
		Image, Data, Name, Version string
		Settings                   Settings
	}{image, b.Data, b.Name, b.Version, b.Settings})
	if err != nil {
		panic(fmt.Sprintf("box: settings cannot be encoded: %v", err)) // a number that JSON has none for was read from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// exec runs a command in the container, which runs.
func (b *Box) exec(ctx context.Context, e provider.ExecSpec) (int, error) {
	// Without a description no second container is made where there is none.
	return b.Containers.Exec(ctx, boxName, provider.Config{WorkDir: b.Data}, e)
}

// Settings are what an agent's configuration says of its container.
type Settings struct {
	Engine  string   `json:"engine,omitempty"`  // podman, docker, or "" for what is there
	Socket  string   `json:"socket,omitempty"`  // of the engine, or ""
	Image   string   `json:"image,omitempty"`   // instead of a Containerfile
	Memory  string   `json:"memory,omitempty"`  // such as "512m", or "" for no limit
	PIDs    int      `json:"pids,omitempty"`    // 0 means no limit
	CPUs    float64  `json:"cpus,omitempty"`    // 0 means no limit
	Network string   `json:"network,omitempty"` // "none", "host", "default" or ""
	Mounts  []string `json:"mounts,omitempty"`  // directories of this machine that appear at the same path
	Init    []string `json:"init,omitempty"`    // a program that runs while the container does; it ends with it
}

// Choose reads what a configuration says, and whether the agent lives in a
// container.
func Choose(c datarepo.Container, hasContainerfile bool) (s Settings, wanted bool, err error) {
	if c.Options != nil {
		d := json.NewDecoder(bytes.NewReader(c.Options))
		d.DisallowUnknownFields() // a misspelt limit must not be none
		if err := d.Decode(&s); err != nil {
			return s, false, fault.Hintf(fault.Errorf(fault.Usage, `system/agent_config.json: "container": %w`, err),
				"there are engine, socket, image, memory, pids, cpus, network, mounts and init")
		}
	}
	s.Engine = c.Engine
	named := s.Engine != datarepo.Auto // else the files decide
	switch {
	case s.Engine == datarepo.None:
		return Settings{}, false, nil
	case hasContainerfile && s.Image != "":
		return s, false, fault.Errorf(fault.Usage, `system/agent_config.json: "container" names the image %q, and there is a %s: only one of them can be`, s.Image, datarepo.Containerfile)
	case named && !hasContainerfile && s.Image == "":
		return s, false, fault.Hintf(fault.Errorf(fault.Usage, `system/agent_config.json: "container" is %q, but there is no %s`, s.Engine, datarepo.Containerfile),
			`write one, name an "image", or let "container" be "none"`)
	}
	if !named {
		s.Engine = ""
	}
	return s, hasContainerfile || s.Image != "", nil
}

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
	shell = cmp.Or(shell, "sh")
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
	_, err := tree.Sweep(ctx, home.HostMark+"="+at.Dir.ID)
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
