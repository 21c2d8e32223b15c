package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// pipeLimit is how long a child that the command left behind may hold its
// output open.
const pipeLimit = 500 * time.Millisecond

// Exec runs a command with this process's environment. When the context ends,
// its whole process group is killed.
func (Place) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	if len(e.Argv) == 0 || e.Argv[0] == "" {
		return 0, fault.Errorf(fault.Usage, "run a command beside session '%s': none is given", name)
	}
	cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = e.Stdin, e.Stdout, e.Stderr, e.Dir
	if cmd.Dir == "" {
		cmd.Dir = existing(c.WorkDir)
	}
	cmd.Env = os.Environ()
	for _, key := range slices.Sorted(maps.Keys(e.Env)) {
		cmd.Env = append(cmd.Env, key+"="+e.Env[key])
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeLimit
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return 0, fmt.Errorf("run %q beside session '%s': %w", e.Argv[0], name, ctx.Err())
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0, nil
	case errors.As(err, &exit):
		return exitCode(exit), nil
	}
	return 0, fmt.Errorf("run a command beside session '%s': %w", name, err)
}

// existing is the directory, or "" where it is not there yet: a command may be
// what makes it.
func existing(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func exitCode(e *exec.ExitError) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
