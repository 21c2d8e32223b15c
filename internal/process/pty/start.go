package pty

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
	"golang.org/x/sys/unix"
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

// defaultPath is the PATH for a command without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// resolved is a command whose program was found.
type resolved struct {
	path string // to execute, from the command's own directory
	seen string // the same from this process's directory
	env  []string
	name string // as the caller gave it
}

// LookPath returns the path of the program that Start would run for c, as seen
// from this process.
func LookPath(c Command) (string, error) {
	r, err := resolve(c)
	return r.seen, err
}

func resolve(c Command) (resolved, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return resolved{}, fault.Errorf(fault.Usage, "no command to start: give a program and its arguments")
	}
	r := resolved{name: c.Argv[0], env: c.Env}
	if r.env == nil {
		r.env = os.Environ()
	}
	r.env = cleanEnv(r.env)
	for _, s := range append(append([]string{c.Dir}, c.Argv...), r.env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return r, fault.Errorf(fault.Usage, "start %q: an argument, variable or directory holds a zero byte", r.name)
		}
	}
	if c.Dir != "" {
		st, err := os.Stat(c.Dir)
		if err == nil && !st.IsDir() {
			err = unix.ENOTDIR
		}
		if err != nil {
			return r, fault.Errorf(fault.Usage, "start %q in %s: %w", r.name, c.Dir, bare(err))
		}
	}
	if strings.Contains(r.name, "/") {
		r.path, r.seen = r.name, below(c.Dir, r.name)
		if err := executable(r.seen); err != nil {
			return r, fault.Errorf(fault.Usage, "start %q: %w", r.name, err)
		}
		return r, nil
	}
	return r, r.search(c.Dir)
}

// search finds the command on its own PATH. A relative entry is resolved from
// the command's directory, as it would be by the command.
func (r *resolved) search(dir string) error {
	path := defaultPath
	for _, kv := range r.env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for _, entry := range filepath.SplitList(path) {
		if entry == "" {
			entry = "."
		}
		file := filepath.Join(entry, r.name)
		if !filepath.IsAbs(file) {
			file = "./" + file // Join cleans a leading "./" away, and exec needs a slash.
		}
		err := executable(below(dir, file))
		if err == nil {
			r.path, r.seen = file, below(dir, file)
			return nil
		}
		if denied == nil && err == errNotExecutable {
			denied = fault.Errorf(fault.Usage, "start %q: %s: %w", r.name, file, err)
		}
	}
	if denied != nil {
		return denied
	}
	return fault.Hintf(
		fault.Errorf(fault.Usage, "start %q: no such command on PATH (%s)", r.name, path),
		"check the spelling, or give the program's full path")
}

// below returns the path of file for this process, if file is relative to dir.
func below(dir, file string) string {
	if dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

var errNotExecutable = errors.New("is not executable (chmod +x may help)")

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return bare(err)
	case st.IsDir():
		return errors.New("is a directory")
	}
	if err := unix.Access(file, unix.X_OK); err != nil || st.Mode()&0o111 == 0 {
		return errNotExecutable
	}
	return nil
}

// bare strips the operation and path from an error whose message names them
// already.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// explain returns an error that says why an existing program could not be
// started.
func (r *resolved) explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		if interp := interpreter(r.seen); interp != "" {
			return fault.Errorf(fault.Usage, "start %q: its interpreter %s does not exist", r.name, interp)
		}
		return fault.Errorf(fault.Usage, "start %q: %w (its loader may be missing)", r.name, err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOEXEC),
		errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return fault.Errorf(fault.Usage, "start %q: %w", r.name, err)
	}
	return fmt.Errorf("start %q: %w", r.name, err)
}

// interpreter returns the program of a script's "#!" line, or "".
func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return ""
	}
	if words := strings.Fields(rest); len(words) > 0 {
		return words[0]
	}
	return ""
}
