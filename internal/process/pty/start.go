package pty

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

// A Command is a program to start on a terminal.
type Command struct {
	Argv []string // Argv[0] is looked up on the command's own PATH, from its own Dir
	Env  []string // KEY=VALUE, the last of a key wins; nil means this process's environment
	Dir  string   // where it starts; "" means here

	// Cgroup is the directory of the cgroup to start in, or nil. If the kernel
	// refuses, the command starts in this process's cgroup.
	Cgroup *os.File
}

// Start starts c as the leader of a new session whose controlling terminal is
// p. It does not wait for the command: the caller reaps it. A PTY starts one
// command.
//
// The child gets descriptors 0, 1 and 2 and no others. For that, every
// descriptor of this process from 3 up is marked close-on-exec, so a host that
// passes some on by exec must clear the mark after its last Start. The child's
// signals are at their defaults, even those that this process ignores.
func (p *PTY) Start(c Command) (pid int, err error) {
	r, err := resolve(c)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slave == nil {
		return 0, fault.Errorf(fault.Internal, "start %q: the terminal has its command already, or is closed", c.Argv[0])
	}
	if err := CloseOnExec(); err != nil {
		return 0, fmt.Errorf("start %q: close descriptors: %w", c.Argv[0], err)
	}
	catchIgnored()
	fd := p.slave.Fd()
	attr := &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   r.env,
		Files: []uintptr{fd, fd, fd},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	}
	if pid, err = ForkExec(r.path, c.Argv, attr, c.Cgroup); err != nil {
		return 0, r.explain(err)
	}
	p.slave.Close()
	p.slave = nil
	if p.roots == nil {
		p.roots = []int{pid, os.Getpid()}
	}
	return pid, nil
}

// ForkExec starts a program in the cgroup of an open directory. If that is nil
// or the kernel refuses, it starts in this process's cgroup.
func ForkExec(path string, argv []string, attr *syscall.ProcAttr, cgroup *os.File) (pid int, err error) {
	if cgroup != nil {
		inside, sys := *attr, *attr.Sys
		InCgroup(&sys, cgroup)
		inside.Sys = &sys
		if pid, err = forkExec(path, argv, &inside); err == nil {
			return pid, nil
		}
	}
	return forkExec(path, argv, attr)
}

// forkExec runs a script without a "#!" line by sh, as execvp does.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, argv[1:]...), attr)
	}
	return pid, err
}

// cleanEnv drops entries that a later one with the same key overrides, because
// programs disagree on which of them wins.
func cleanEnv(env []string) []string {
	out := make([]string, 0, len(env))
	at := make(map[string]int, len(env))
	for _, kv := range env {
		key, _, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			continue
		}
		if i, dup := at[key]; dup {
			out[i] = kv
			continue
		}
		at[key] = len(out)
		out = append(out, kv)
	}
	return out
}
