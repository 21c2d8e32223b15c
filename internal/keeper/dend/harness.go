package dend

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/onirc"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/acp/terminals"
	"den/internal/agent/runner/claude"
	"den/internal/agent/runner/codex"
	"den/internal/agent/runner/copilot"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/agent/supervisor"
	"den/internal/base/fault"
	"den/internal/process/supervise"
	"den/internal/session"
	"den/internal/session/home"
)

// drivers are the protocols by which agents can be driven.
var drivers = map[string]runner.Driver{
	"acp":     acp.Driver{Files: true, Version: Version},
	"claude":  claude.Driver{},
	"codex":   codex.Driver{},
	"copilot": copilot.Driver{Getenv: os.Getenv},
	"script":  script.Driver{},
}

// Backends lists the names of drivers.
func Backends() []string { return slices.Sorted(maps.Keys(drivers)) }

// maxHarnessLog is when a harness's log begins anew, with the old one beside
// it.
const maxHarnessLog = 8 << 20

// runHarness is the process of one agent's harness: the program of its session.
func runHarness(args, environ []string, stdout, stderr io.Writer) int {
	err := harnessMain(args, environ, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "dend:", err)
		if hint := fault.HintOf(err); hint != "" {
			fmt.Fprintln(stderr, "hint:", hint)
		}
	}
	return fault.ExitCode(err)
}

func harnessMain(args, environ []string, stdout io.Writer) error {
	if len(args) != 1 {
		return fault.Errorf(fault.Usage, "dend harness: it needs the harness's state directory")
	}
	dir := args[0]
	c, err := harness.Load(dir)
	if err != nil {
		return err
	}
	driver, ok := drivers[c.Backend]
	if !ok {
		return fault.Hintf(fault.Errorf(fault.Usage, "agent '%s': no backend '%s'", c.Agent, c.Backend), "there are %v", Backends())
	}
	mark, err := supervise.Mark("mind", dir)
	if err != nil {
		return err
	}
	logFile, err := openHarnessLog(filepath.Join(dir, "harness.log"))
	if err != nil {
		return err
	}
	defer logFile.Close() // Best effort: every line was written.
	ctx, stop := untilSignalled()
	defer stop()
	// A supervisor runs on this machine: it judges the agent and must not be in
	// its hands.
	here := local.Spawner{Mark: mark}
	inside := here
	if c.Sandbox != nil {
		if inside, err = confinedSpawn(c, dir, here, lookup(environ)); err != nil {
			return err
		}
	}
	at, err := openPlace(c, inside, environ)
	if err != nil {
		return err
	}
	defer at.close() // Best effort: the process ends.
	_, err = here.Clean(ctx)
	if err == nil && c.Box != nil {
		_, err = at.spawn.Clean(ctx)
	}
	if err != nil {
		return fmt.Errorf("end what the last harness left: %w", err)
	}
	getenv := lookup(environ)
	if driver, err = withTerminals(ctx, driver, c, inside, environ); err != nil {
		return err
	}
	screen := harness.NewScreen(os.Stdin, stdout, logFile, time.Now)
	screen.Greet(c)
	return harness.Run(ctx, harness.Options{
		Config: c, StateDir: dir, Driver: driver, Spawn: at.spawn, Relay: at.relay, Screen: screen, Getenv: getenv,
		Connect: onirc.Connect, Judge: judge(c, here, screen),
	})
}

// withTerminals lets an agent that asks its client to run commands run them in
// sessions beside its own. It ends those that the last harness left.
func withTerminals(ctx context.Context, d runner.Driver, c harness.Config, inside local.Spawner, environ []string) (runner.Driver, error) {
	if c.Box != nil {
		return forBox(d), nil
	}
	agent, ok := d.(acp.Driver)
	if !ok {
		return d, nil
	}
	root, err := home.ResolveHome("", lookup(environ))
	if err != nil {
		return nil, err
	}
	all := &terminals.Terminals{
		Home: root, Agent: c.Agent, Mark: inside.Mark, Wrap: inside.Wrap, Env: environ, Options: session.Options{Version: Version, Binary: c.Den},
	}
	if err := all.EndLeft(ctx); err != nil {
		return nil, fmt.Errorf("end the commands that the last harness left: %w", err)
	}
	agent.Terminals = all
	if c.Sandbox != nil {
		agent.Files = false // it reads and writes by itself: den would do it from outside
	}
	return agent, nil
}

// judge is who supervises the agent: any backend, nil for fixed rules.
func judge(c harness.Config, spawn runner.Spawner, screen *harness.Screen) supervisor.Judge {
	s := c.Supervisor
	driver, ok := drivers[s.Backend]
	if !ok {
		return nil
	}
	return supervisor.Mind{Driver: driver, Instructions: s.Instructions, Options: runner.Options{
		Spawn: spawn, Command: s.Command, Dir: c.Dir, Model: s.Model, Thinking: s.Thinking, Log: screen.Log,
	}}
}

func openHarnessLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxHarnessLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fault.Errorf(fault.Storage, "begin the harness's log anew: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "open the harness's log: %w", err)
	}
	return f, nil
}
