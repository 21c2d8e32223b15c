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

	"den/internal/fault"
	"den/internal/provider"
)

// Attach runs a tmux client on the person's terminal. It needs a terminal that
// a process can have: two files. The session's hook detaches everybody when
// its command ends.
func (p *Provider) Attach(ctx context.Context, name string, t provider.Terminal) error {
	in, inOK := t.In.(*os.File)
	out, outOK := t.Out.(*os.File)
	if !inOK || !outOK {
		return fault.Hintf(fault.Errorf(fault.Unsupported, "attach to session '%s': its terminal is no file of this process", name), "Peek and Nudge need no terminal")
	}
	one, err := p.running(ctx, name)
	if err != nil {
		return err
	}
	args := []string{"-N", "attach-session", "-t", one.session}
	if t.ReadOnly {
		args = append(args, "-r")
	}
	cmd := p.tmux(args...)
	cmd.Env = attachEnv(cmd.Env, os.Environ())
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("attach to session '%s': %w", name, err)
	}
	done := make(chan error, 1) // room for the one result
	go func() { done <- cmd.Wait() }()
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
	if _, gone := p.running(ctx, name); fault.KindOf(gone) == fault.NotRunning || fault.KindOf(gone) == fault.NotFound {
		return nil // the session's end ended it
	}
	said := strings.TrimSpace(cmd.Stderr.(*bytes.Buffer).String())
	return fault.Errorf(fault.Internal, "attach to session '%s': %w", name, errors.Join(err, errors.New(said)))
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
