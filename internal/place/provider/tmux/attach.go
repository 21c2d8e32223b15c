package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
)

// Attach runs a tmux client on the person's terminal. The session's hook detaches
// everybody when its command ends.
func (p *Provider) Attach(ctx context.Context, name string, in, out *os.File) error {
	if _, err := p.running(ctx, name); err != nil {
		return err
	}
	cmd := p.tmux("-N", "attach-session", "-t", "="+p.tmuxName(name))
	cmd.Env = attachEnv(cmd.Env, os.Environ())
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("attach to session '%s': %w", name, err)
	}
	done := make(chan error, 1) // room for the one result
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		cmd.Process.Signal(syscall.SIGTERM) // Best effort: it gives the terminal back and ends.
		select {
		case <-done:
		case <-time.After(leaveLimit):
			cmd.Process.Kill() // Best effort, as above.
			<-done
		}
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	if p.over(ctx, name) {
		return nil // the session's end ended it
	}
	said := strings.TrimSpace(cmd.Stderr.(*bytes.Buffer).String())
	return fault.Errorf(fault.Internal, "attach to session '%s': %w", name, errors.Join(err, errors.New(said)))
}

func (p *Provider) over(ctx context.Context, name string) bool {
	_, err := p.running(ctx, name)
	return fault.KindOf(err) == fault.NotRunning || fault.KindOf(err) == fault.NotFound
}

// attachEnv tells the client which terminal the person has.
func attachEnv(env, environ []string) []string {
	for _, kv := range environ {
		if k, _, _ := strings.Cut(kv, "="); k == "TERM" || k == "COLORTERM" || k == "TERMINFO" || k == "TERMINFO_DIRS" {
			env = append(env, kv)
		}
	}
	return env
}
