package realcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Result is what an agent printed, and its exit code.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs the agent to its end, without a terminal and without input. It leads
// a process group of its own, of which nothing is left.
func (h *Home) Run(ctx context.Context, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, h.Program, args...)
	cmd.Env, cmd.Dir = h.Env, h.Work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start agent: %w", err)
	}
	err := cmd.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Best effort: mostly nobody is left.
	r := Result{Stdout: out.String(), Stderr: errOut.String(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("run agent %v: %w\n%s%s", args, errors.Join(ctx.Err(), err), r.Stdout, r.Stderr)
	}
	return r, nil
}
