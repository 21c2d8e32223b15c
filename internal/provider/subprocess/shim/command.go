package shim

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/fault"
	"den/internal/pty"

	"golang.org/x/sys/unix"
)

// defaultPath is where a command without a PATH is looked for.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// command is a started program and the shim's ends of its pipes.
type command struct {
	pid    int
	input  *os.File
	output *os.File
}

// start runs the program on two pipes, output and errors on the same: what it
// wrote first is read first. It leads a session of its own, so that no signal
// to its group reaches the shim, and it does not outlive the shim.
func start(b *Bootstrap) (_ *command, err error) {
	path, err := find(b.Argv[0], b.WorkDir, b.Env)
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", b.Argv[0], err)
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		inW.Close()
		return nil, fmt.Errorf("start %q: %w", b.Argv[0], err)
	}
	defer outW.Close()
	if err := pty.CloseOnExec(); err != nil {
		return nil, fmt.Errorf("start %q: close descriptors: %w", b.Argv[0], err)
	}
	attr := &syscall.ProcAttr{
		Dir: b.WorkDir, Env: b.Env,
		Files: []uintptr{inR.Fd(), outW.Fd(), outW.Fd()}, // Fd makes them block, as programs expect
		Sys:   childAttr(),
	}
	pid, err := forkExec(path, b, attr)
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "start %q: %w", b.Argv[0], err),
			"check that it can be executed, and the interpreter that it names")
	}
	return &command{pid: pid, input: inW, output: outR}, nil
}

// forkExec starts the program in the session's cgroup.
func forkExec(path string, b *Bootstrap, attr *syscall.ProcAttr) (pid int, err error) {
	cgroup, err := b.cgroup().Open()
	if err != nil {
		log.Print(err) // its processes are found by scanning then
	}
	if cgroup != nil {
		defer cgroup.Close() // Best effort: it was only read.
	}
	return pty.ForkExec(path, b.Argv, attr, cgroup)
}

// find looks for the program on its own PATH. What is not absolute counts
// from its own directory, as it would for the program.
func find(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if err := executable(below(dir, name)); err != nil {
			return "", fault.Errorf(fault.Usage, "start %q: %w", name, err)
		}
		return below(dir, name), nil
	}
	path := defaultPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, entry := range filepath.SplitList(path) {
		if file := below(dir, filepath.Join(entry, name)); executable(file) == nil {
			return file, nil
		}
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "start %q: no such command on PATH (%s)", name, path),
		"check the spelling, or give the program's full path")
}

func below(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return errors.New("it is a directory")
	case st.Mode()&0o111 == 0 || unix.Access(file, unix.X_OK) != nil:
		return errors.New("it is not executable (chmod +x may help)")
	}
	return nil
}
