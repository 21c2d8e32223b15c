package shim

import (
	"fmt"
	"log"
	"os"
	"syscall"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

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
	path, err := pty.LookPath(pty.Command{Argv: b.Argv, Dir: b.WorkDir, Env: b.Env})
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
