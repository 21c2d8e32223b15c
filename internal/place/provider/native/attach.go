package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/onpty"
	"den/internal/session"
)

// leaveLimit is how long the attached den may take to give the terminal back
// when the caller's context ends.
const leaveLimit = 5 * time.Second

// Attach runs 'den attach' on the person's terminal, so that a person is
// joined to an agent's session as to any other. Streams get a terminal first.
func (p *Provider) Attach(ctx context.Context, name string, t provider.Terminal) error {
	_, m, err := p.find(name)
	if err != nil {
		return err
	}
	if m.Status.Final() {
		return fault.Errorf(fault.NotRunning, "session '%s' is %s", name, m.Ending())
	}
	args := []string{"--home", p.Home.Path, "attach", m.Name}
	if t.ReadOnly {
		args = append(args, "--read-only")
	}
	if onpty.Wanted(t) {
		return p.attachStreams(ctx, name, t, append([]string{p.Binary}, args...))
	}
	in, out := t.In.(*os.File), t.Out.(*os.File)
	var said strings.Builder
	cmd := exec.CommandContext(ctx, p.Binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it restores the terminal
	cmd.WaitDelay = leaveLimit
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return attachError(name, cmd.ProcessState, err, said.String())
	}
	// How the person left. Best effort: it is for them, and they are gone.
	_, _ = fmt.Fprint(out, said.String())
	return nil
}

func (p *Provider) attachStreams(ctx context.Context, name string, t provider.Terminal, argv []string) error {
	state, err := onpty.Run(ctx, t, argv, append(os.Environ(), "TERM="+session.DefaultTerm))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("attach to session '%s': %w", name, err)
	case state != nil && !state.Success():
		return attachError(name, state, fmt.Errorf("%s", state), "")
	}
	return nil
}

// attachError gives the error of 'den attach' back its kind, by its exit code.
func attachError(name string, state *os.ProcessState, err error, said string) error {
	kind := fault.Internal
	if state != nil {
		for _, k := range []fault.Kind{fault.Usage, fault.NotFound, fault.NotRunning, fault.Busy, fault.Unreachable, fault.Storage, fault.Protocol, fault.Denied} {
			if fault.ExitCode(fault.Errorf(k, "")) == state.ExitCode() {
				kind = k
			}
		}
	}
	if said = strings.TrimSpace(said); said == "" {
		said = err.Error()
	}
	return fault.Errorf(kind, "attach to session '%s': %s", name, said)
}
