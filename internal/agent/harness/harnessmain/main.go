// Package harnessmain is the main function of 'dend harness', the program of the
// session of an agent that den drives by protocol.
package harnessmain

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/onirc"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/acp/terminals"
	"den/internal/agent/runner/drivers"
	"den/internal/agent/runner/local"
	"den/internal/agent/supervisor"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
)

// maxLog is when a harness's log begins anew, with the old one beside
// it.
const maxLog = 8 << 20

// Main is the process of one agent's harness. It returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	err := run(args, environ, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "dend:", err)
		if hint := fault.HintOf(err); hint != "" {
			fmt.Fprintln(stderr, "hint:", hint)
		}
	}
	return fault.ExitCode(err)
}

func run(args, environ []string, stdout io.Writer) error {
	if len(args) != 1 {
		return fault.Errorf(fault.Usage, "dend harness: it needs the harness's state directory")
	}
	dir := args[0]
	c, err := harness.Load(dir)
	if err != nil {
		return err
	}
	driver, ok := drivers.All[c.Backend]
	if !ok {
		return fault.Hintf(fault.Errorf(fault.Usage, "agent '%s': no backend '%s'", c.Agent, c.Backend), "there are %v", drivers.Names())
	}
	mark, err := tree.Mark("mind", dir)
	if err != nil {
		return err
	}
	logFile, err := openLog(filepath.Join(dir, "harness.log"))
	if err != nil {
		return err
	}
	defer logFile.Close() // Best effort: every line was written.
	ctx, stop := tree.UntilSignalled()
	defer stop()
	// A supervisor runs on this machine: it judges the agent and must not be in
	// its hands.
	here := local.Spawner{Mark: mark}
	inside := here
	if c.Sandbox != nil {
		if inside, err = confinedSpawn(c, dir, here, environment.Getter(environ)); err != nil {
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
	getenv := environment.Getter(environ)
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
	root, err := home.ResolveHome("", environment.Getter(environ))
	if err != nil {
		return nil, err
	}
	all := &terminals.Terminals{
		Home: root, Agent: c.Agent, Mark: inside.Mark, Wrap: inside.Wrap, Env: environ, Options: session.Options{Version: build.Version, Binary: c.Den},
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
	driver, ok := drivers.All[s.Backend]
	if !ok {
		return nil
	}
	return supervisor.Mind{Driver: driver, Instructions: s.Instructions, Options: runner.Options{
		Spawn: spawn, Command: s.Command, Dir: c.Dir, Model: s.Model, Thinking: s.Thinking, Log: screen.Log,
	}}
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
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
