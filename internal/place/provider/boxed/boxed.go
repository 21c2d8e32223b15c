// Package boxed runs sessions of two parts: a harness on this machine, and a box,
// which is the container of the agent's own processes.
//
// Both parts have the session's name. People see the harness, attach to it and
// type into it; the harness runs commands in the box. A session runs while both
// parts do. A box outlives a harness that ended by itself, with all files that
// the agent has made in it, and ends when the session is stopped.
package boxed

import (
	"context"
	"errors"
	"fmt"
	"io"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
)

// Box runs containers.
type Box interface {
	provider.Lifecycle
	provider.Preparer
	provider.Stager
	provider.Execer
	IsRunning(ctx context.Context, name string) (bool, error)
}

// Provider runs sessions with boxes. What is not about the box is done as for
// den's own sessions.
type Provider struct {
	*sessions
	box  Box
	hold []string // the command that keeps a box open
}

// sessions hides the name of the embedded provider, whose Options are its own.
type sessions struct{ *native.Provider }

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.Preparer      = (*Provider)(nil)
	_ provider.ProcessLister = (*Provider)(nil)
)

// New returns the provider. The options of its sessions are the box's.
func New(harnesses *native.Provider, box Box, hold []string) *Provider {
	return &Provider{sessions: &sessions{harnesses}, box: box, hold: hold}
}

// Start begins the box, unless it stands, and then the harness in it.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	harness, box, err := p.running(ctx, name)
	if err != nil {
		return err
	}
	if harness && box {
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is running already", name), "stop it first, or choose another name")
	}
	if harness { // without its box it can do nothing
		if err := p.sessions.Stop(ctx, name); err != nil {
			return err
		}
	}
	if !box {
		if err := p.box.Start(ctx, name, p.boxConfig(c)); err != nil {
			return err
		}
	}
	c.Options = nil
	if err := p.sessions.Start(ctx, name, c); err != nil {
		if !box {
			err = errors.Join(err, p.box.Stop(context.WithoutCancel(ctx), name)) // it bounds itself
		}
		return err
	}
	return nil
}

// boxConfig is that of a box. The agent's variables are given to its processes
// alone.
func (p *Provider) boxConfig(c provider.Config) provider.Config {
	return provider.Config{Argv: p.hold, WorkDir: c.WorkDir, Options: c.Options}
}

// Stop ends the harness, and then the box with whatever runs in it.
func (p *Provider) Stop(ctx context.Context, name string) error {
	return errors.Join(p.sessions.Stop(ctx, name), p.box.Stop(ctx, name))
}

func (p *Provider) running(ctx context.Context, name string) (harness, box bool, err error) {
	if harness, err = p.sessions.IsRunning(ctx, name); err != nil {
		return false, false, err
	}
	if box, err = p.box.IsRunning(ctx, name); err != nil {
		return false, false, fmt.Errorf("ask for the box of session '%s': %w", name, err)
	}
	return harness, box, nil
}

// IsRunning reports whether both parts run.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	harness, box, err := p.running(ctx, name)
	return harness && box, err
}

// ProcessAlive is the harness's, while the box stands.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	if running, err := p.IsRunning(ctx, name); err != nil || !running {
		return false, err
	}
	return p.sessions.ProcessAlive(ctx, name, processNames)
}

// Prepare pulls or builds the box's image.
func (p *Provider) Prepare(ctx context.Context, name string, c provider.Config, progress func(line string)) error {
	return p.box.Prepare(ctx, name, p.boxConfig(c), progress)
}

// Stage puts files into the working directory, which both parts have.
func (p *Provider) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	return p.box.Stage(ctx, name, p.boxConfig(c), files, o)
}

// Exec runs a command in the box.
func (p *Provider) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	return p.box.Exec(ctx, name, p.boxConfig(c), e)
}
