// Package local spawns agents' processes on this machine.
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/place/sandbox"
	"den/internal/process/tree"
)

// Spawner starts processes on this machine. Mark is the same for all processes
// of one agent, over restarts of den, and differs between agents: a daemon that
// leaves its process group is found by it.
type Spawner struct {
	Mark string
	Env  []string // the environment to start from; nil means this process's
	// Wrap returns the command that becomes argv in the agent's sandbox; or nil.
	Wrap func(argv []string) []string
}

// Clean kills what an earlier Spawner with the same mark left behind, when its
// process was killed, and returns the number.
func (s Spawner) Clean(ctx context.Context) (int, error) {
	return tree.Sweep(ctx, tree.RunnerMark+"="+s.Mark)
}

// Spawn starts a command in a process group of its own.
func (s Spawner) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, fault.Errorf(fault.Usage, "start an agent: no command is given")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &process{mark: tree.RunnerProcessMark + "=" + rand.Text(), ended: make(chan struct{})}
	argv, env := c.Argv, append(s.environment(c.Env), p.mark)
	if s.Wrap != nil {
		argv, env = s.Wrap(argv), append(env, sandbox.EnvNames+"="+strings.Join(slices.Sorted(maps.Keys(c.Env)), ","))
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir, p.cmd.Env = c.Dir, env
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.start(); err != nil {
		return nil, startError(c.Argv[0], err)
	}
	go p.wait() // ends with the process; Wait waits for it
	return p, nil
}

func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fault.Hintf(fault.Errorf(fault.NotFound, "start %s: %w", program, err), "install it, or set the agent's command")
	}
	return fault.Errorf(fault.Internal, "start %s: %w", program, err)
}

func (s Spawner) environment(own map[string]string) []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.Clone(env)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		env = append(env, key+"="+own[key])
	}
	return append(env, tree.RunnerMark+"="+s.Mark)
}

// process is a spawned command.
type process struct {
	mark   string // in the environment of all that it starts
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr *os.File

	mu    sync.Mutex // guards over: a signal must not reach another process of the same number
	over  bool
	ended chan struct{} // closed when exit is set
	exit  runner.Exit
}

// start makes the pipes itself: exec's own are closed when the process ends,
// whether or not they were read empty.
func (p *process) start() error {
	var theirs []*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			f.Close() // Best effort: nothing is lost with a pipe that nobody has.
		}
	}
	defer func() { closeAll(theirs...) }()
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	theirs = append(theirs, inRead)
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		closeAll(inWrite)
		return err
	}
	theirs = append(theirs, outWrite)
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		closeAll(inWrite, outRead)
		return err
	}
	theirs = append(theirs, errWrite)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, errWrite
	if err := p.cmd.Start(); err != nil {
		closeAll(inWrite, outRead, errRead)
		return err
	}
	p.stdin, p.stdout, p.stderr = inWrite, outRead, errRead
	return nil
}

func (p *process) Stdin() io.WriteCloser { return p.stdin }
func (p *process) Stdout() io.Reader     { return p.stdout }
func (p *process) Stderr() io.Reader     { return p.stderr }

// Signal reaches the process group.
func (p *process) Signal(s os.Signal) error {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return fault.Errorf(fault.Usage, "signal %v: not one of this system", s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.cmd.Process.Pid, sig)
}

// wait collects the process, then kills what it left behind.
func (p *process) wait() {
	err := p.reap()
	p.exit = exitOf(p.cmd.ProcessState, err)
	if _, err := tree.Sweep(context.Background(), p.mark); err != nil {
		p.exit.Reason = err.Error()
	}
	close(p.ended)
}

func (p *process) Wait() runner.Exit {
	<-p.ended
	return p.exit
}

func exitOf(state *os.ProcessState, err error) runner.Exit {
	if state == nil {
		return runner.Exit{Code: -1, Reason: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return runner.Exit{Code: 128 + int(status.Signal()), Reason: status.Signal().String()}
	}
	return runner.Exit{Code: state.ExitCode()}
}
