// Package ticksmain is the main function of 'dend kernel': one tick, a watch
// that begins ticks, or the server of a tick's tools.
package ticksmain

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/agent/runner/drivers"
	"den/internal/agent/runner/local"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/base/plainjson"
	"den/internal/process/git"
	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/box"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/gitpush"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/rotate"
	"den/internal/ticks/terminal"
	"den/internal/ticks/tick"
	"den/internal/ticks/toolsocket"
	"den/internal/ticks/watch"
)

// kernelFlags are what the command line of 'dend kernel' says.
type kernelFlags struct {
	home, den string
	json      bool
	wait      bool // for the end of another watcher
	words     []string
}

// Main is the process of ticks: 'dend kernel tick NAME', 'dend kernel
// watch NAME', and 'dend kernel tools', the server of a tick's tools. 'dend
// kernel stop NAME' and 'dend kernel leave NAME' end the agent's container.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	f, err := parseKernel(args, stderr)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = f.run(ctx, environ, stdout, stderr)
	}
	var ended tickEnded
	if errors.As(err, &ended) {
		return 1 // how is printed
	}
	return fault.Printer{Program: "den", JSON: f.json, Stdout: stdout, Stderr: stderr}.Print(err)
}

// tickEnded is a tick that did not end well.
type tickEnded struct{ error }

func parseKernel(args []string, stderr io.Writer) (kernelFlags, error) {
	var f kernelFlags
	set := flag.NewFlagSet("dend kernel", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.home, "home", "", "the Home `DIR` of the terminals (default $DEN_HOME, else ~/.den)")
	set.StringVar(&f.den, "den", "", "the den `BINARY` (default: beside dend)")
	set.BoolVar(&f.json, "j", false, "print JSON")
	set.BoolVar(&f.wait, "wait", false, "watch: if another process watches the instance, wait for its end")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	f.words = set.Args()
	if f.den == "" {
		self, err := os.Executable()
		if err != nil {
			return f, fmt.Errorf("find this binary: %w", err)
		}
		f.den = filepath.Join(filepath.Dir(self), "den")
	}
	return f, nil
}

func (f kernelFlags) run(ctx context.Context, environ []string, stdout, stderr io.Writer) error {
	switch {
	case len(f.words) == 1 && f.words[0] == "tools":
		return serveTools(ctx, environ)
	case len(f.words) == 2 && f.words[0] == "tick":
		return f.withInstance(f.words[1], "tick", environ, stderr, func(o tick.Options, _ *lodgings) error { return f.tick(ctx, o, stdout) })
	case len(f.words) == 2 && f.words[0] == "watch":
		return f.withInstance(f.words[1], "watch", environ, stderr, func(o tick.Options, _ *lodgings) error { return f.watch(ctx, o, stdout) })
	case len(f.words) == 2 && (f.words[0] == "stop" || f.words[0] == "leave"):
		return f.withInstance(f.words[1], "tick", environ, stderr, func(_ tick.Options, l *lodgings) error { return l.leave(ctx, f.words[0] == "leave") })
	}
	return fault.Errorf(fault.Usage, "dend kernel knows no %q", strings.Join(f.words, " "))
}

// withInstance calls do with all that ticks of an instance need.
func (f kernelFlags) withInstance(name, who string, environ []string, stderr io.Writer, do func(tick.Options, *lodgings) error) error {
	getenv := environment.Getter(environ)
	reg, err := registry.New(getenv)
	if err != nil {
		return err
	}
	known, err := reg.Get(name)
	if err != nil {
		return err
	}
	in, err := instance.Open(known, getenv)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it is a directory that is open.
	logs, err := in.Repo.OpenLogs()
	if err != nil {
		return err
	}
	defer logs.Close() // Best effort, as above.
	written := rotate.Open(logs, map[string]string{"tick": "agent", "watch": "watcher"}[who], stderr)
	defer written.Close()
	o, lodgings, err := f.options(in, slog.New(written.Handler()), environ)
	if err != nil {
		return err
	}
	defer lodgings.close() // Best effort: connections that nobody uses.
	o.Who = who
	return do(o, lodgings)
}

func (f kernelFlags) options(in *instance.Instance, log *slog.Logger, environ []string) (tick.Options, *lodgings, error) {
	getenv := environment.Getter(environ)
	root, err := home.ResolveHome(f.home, getenv)
	if err != nil {
		return tick.Options{}, nil, err
	}
	mark, err := tree.Mark("kernel", in.Dir.Path)
	if err != nil {
		return tick.Options{}, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return tick.Options{}, nil, fmt.Errorf("find this binary: %w", err)
	}
	spawn := local.Spawner{Mark: mark, Env: environ}
	l := &lodgings{
		in: in, spawn: spawn, den: f.den, getenv: getenv, log: log,
		here: terminal.Native{
			Home: root, Options: session.Options{Version: build.Version, Binary: f.den, Registry: home.NewRegistry(getenv)},
			Dir: filepath.Join(in.Repo.Path(), datarepo.Sandbox), Env: terminalEnv(environ, in.Name, in.Repo.Path(), f.den), Shell: session.Shell(getenv),
		},
	}
	return tick.Options{
		Instance: in, Drivers: drivers.All, Spawn: spawn, Lodge: l.lodge,
		Tools: []string{self, "kernel", "tools"}, Den: f.den, Version: build.Version, Getenv: getenv, Log: log, Clock: time.Now,
		Push: func(ctx context.Context, confined bool) (told string, problem bool) {
			return pushTold(gitpush.Pusher{
				Git: git.Git{Environ: environ, Mark: mark}, Dir: in.Repo.Path(), Confined: confined, Remote: in.Remote, Store: filepath.Join(in.Dir.Path, "push.git"),
			}.Push(ctx), confined)
		},
	}, l, nil
}

// pushTold is what is logged of a push. Where there is nowhere to push to, the
// user has not asked for it; of an agent in a container the repository may have
// a remote that is not used. It is a problem if commits stay here that were to go.
func pushTold(r gitpush.Result, confined bool) (told string, problem bool) {
	if r.Status == gitpush.Skipped && !confined {
		return "", false
	}
	return "git push: " + r.String(), r.Status == gitpush.Failed || r.Status == gitpush.Refused
}

// terminalEnv is the environment of programs in terminals: that of this
// process, with what tools of the agent look for.
func terminalEnv(environ []string, name, data, den string) []string {
	path := filepath.Dir(den) + string(os.PathListSeparator) + environment.Getter(environ)("PATH")
	return append(append([]string{}, environ...), "DATA_DIR="+data, box.NameVariable+"="+name, "PATH="+path)
}

// kernelResult is a tick as it is printed.
type kernelResult struct {
	Name    string      `json:"name"`
	Tick    int         `json:"tick"`
	Status  string      `json:"status"` // "normal" or "abnormal"
	Reason  plan.Reason `json:"reason"`
	Why     string      `json:"why,omitempty"`
	Advice  string      `json:"advice,omitempty"`
	Turns   int         `json:"turns"`
	CostUSD float64     `json:"cost_usd,omitempty"`
	TookMS  int64       `json:"took_ms"`
	Last    string      `json:"last,omitempty"`
	Log     string      `json:"log"`
}

func (f kernelFlags) print(w io.Writer, name string, r tick.Result) error {
	if f.json {
		return plainjson.Encode(w, kernelResult{
			Name: name, Tick: r.Tick, Status: r.Outcome.Status(), Reason: r.Outcome.Reason, Why: r.Outcome.Why, Advice: r.Outcome.Advice,
			Turns: r.Turns, CostUSD: r.CostUSD, TookMS: r.Took.Milliseconds(), Last: r.Last, Log: r.Log,
		}, "")
	}
	_, err := fmt.Fprintf(w, "tick %d: %s, %d turns, %s\n", r.Tick, r.Outcome, r.Turns, r.Took.Round(time.Millisecond))
	if err == nil && r.Outcome.Advice != "" {
		_, err = fmt.Fprintf(w, "paused: %s; then 'den kernel resume %s'\n", r.Outcome.Advice, name)
	}
	if err == nil && r.Last != "" {
		_, err = fmt.Fprintln(w, r.Last)
	}
	return err
}

// tick runs one tick by hand. What is due anyway is told to the agent, too.
func (f kernelFlags) tick(ctx context.Context, o tick.Options, stdout io.Writer) error {
	seen, err := o.Look(ctx, o.Clock())
	if err != nil {
		o.Log.Warn("not all that may begin a tick can be read", "error", err)
	}
	switch {
	case seen.Problem != "":
		return fault.Errorf(fault.Storage, "begin a tick: %s", seen.Problem)
	case seen.Paused != "":
		return fault.Hintf(fault.Errorf(fault.Busy, "'%s' is paused: %s", o.Name, seen.Paused), "'den kernel resume %s' lets it have ticks", o.Name)
	}
	r, err := tick.Run(ctx, o, append([]plan.Cause{{Kind: plan.ByHand}}, seen.Causes...))
	if err != nil {
		return err
	}
	if err := f.print(stdout, o.Name, r); err != nil {
		return err
	}
	if err := o.Remember(r, watch.DefaultPolicy); err != nil {
		return err
	}
	if r.Outcome.Reason != plan.Normal {
		return tickEnded{errors.New(r.Outcome.String())}
	}
	return nil
}

func (f kernelFlags) watch(ctx context.Context, o tick.Options, stdout io.Writer) error {
	var printing error
	ended := func(r tick.Result) {
		if err := f.print(stdout, o.Name, r); err != nil && printing == nil {
			printing = err // who read it has gone; the watch stays
			o.Log.Warn("print how a tick ended", "error", err)
		}
	}
	for {
		err := tick.Watch(ctx, o, watch.DefaultPolicy, ended)
		if !f.wait || fault.KindOf(err) != fault.Busy {
			return err
		}
		o.Log.Info("watch: waits for its turn: " + err.Error())
		if err := o.Dir.AwaitWatcher(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// toolClient is a client of the tools' server. Nothing belongs to it: terminals
// are the tick's.
type toolClient struct{}

func (toolClient) Close(context.Context) error { return nil }

// serveTools offers the tools of a tick on stdio, by the Model Context
// Protocol, to the agent's program that started this process.
func serveTools(ctx context.Context, environ []string) error {
	socket := environment.Getter(environ)(toolsocket.Variable)
	if socket == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "%s is not set", toolsocket.Variable), "a tick starts this for its agent")
	}
	var tools []mcpserver.Tool[toolClient]
	for _, t := range toolsocket.Tools {
		tools = append(tools, mcpserver.Tool[toolClient]{
			Name: t.Name, Description: t.Description, Schema: t.Schema,
			Call: func(ctx context.Context, _ toolClient, c mcpserver.Call) (mcpserver.Answer, error) {
				return useTool(ctx, socket, t.Name, c.Arguments)
			},
		})
	}
	return mcpserver.New(mcpserver.Options[toolClient]{
		Name: "agent", Version: build.Version, Tools: tools, Log: log.New(os.Stderr, "den kernel tools: ", 0),
		Connect: func(string) (toolClient, error) { return toolClient{}, nil },
	}).Stdio(ctx, os.Stdin, os.Stdout)
}

func useTool(ctx context.Context, socket, name string, arguments json.RawMessage) (mcpserver.Answer, error) {
	a, err := toolsocket.Use(ctx, socket, build.Version, toolsocket.Call{Tool: name, Arguments: arguments})
	switch {
	case err != nil:
		return mcpserver.Answer{}, err
	case a.Failed:
		return mcpserver.Answer{}, fault.Errorf(fault.Usage, "%s", a.Text)
	}
	return mcpserver.Answer{Text: a.Text}, nil
}
