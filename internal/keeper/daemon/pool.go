package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// defaultCheckTimeout bounds a scale check that the workspace does not bound.
const defaultCheckTimeout = 30 * time.Second

// maxCheckOutput is how much of a scale check's words is shown in an error.
const maxCheckOutput = 2000

// count asks a pool how many of it are wanted.
func count(ctx context.Context, ag *workspace.Agent, environ []string) (int, error) {
	p := ag.Pool
	if p.Check == "" {
		return p.Min, nil
	}
	limit := p.CheckTimeout
	if limit <= 0 {
		limit = defaultCheckTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", p.Check)
	cmd.Dir = ag.Dir
	cmd.Env = append([]string(nil), environ...)
	env, err := agent.ResolveEnv(ctx, ag.Env, ag.Dir)
	if err != nil {
		return 0, fmt.Errorf("check of pool '%s': %w", ag.Name, err)
	}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	// The whole group ends with the check, not only its shell.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", limit)
		}
		return 0, fault.Errorf(fault.Internal, "check of pool '%s': %w: %s", ag.Name, err, cut(errs.String()))
	}
	n, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		return 0, fault.Errorf(fault.Usage, "check of pool '%s' printed %q, not a number", ag.Name, cut(out.String()))
	}
	return min(max(n, p.Min), p.Max), nil
}

func cut(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxCheckOutput {
		return s[:maxCheckOutput] + "…"
	}
	return s
}
