package container

import (
	"context"
	"errors"
	"fmt"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session"
	"den/internal/session/home"
)

// Start begins a session in a new container. Whatever goes wrong before the
// image is there, what ran before under that name is as it was.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	if running, err := p.IsRunning(ctx, name); err != nil {
		return err
	} else if running {
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is running already", name), "stop it first, or choose another name")
	}
	r, err := p.recipe(ctx, name, c, nil)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	return p.sessions.StartWith(ctx, name, c, func(ctx context.Context, root home.Home, spec home.Spec) (home.Dir, *home.Manifest, error) {
		spec.Env = p.environment(spec, c)
		return root.CreateElsewhere(ctx, spec, place{p: p, recipe: r})
	})
}

// Prepare pulls or builds the image.
func (p *Provider) Prepare(ctx context.Context, name string, c provider.Config, progress func(line string)) error {
	_, err := p.Image(ctx, name, c, progress)
	return err
}

// Image is Prepare, and returns the image's reference: a session that was
// started from another one is out of date.
func (p *Provider) Image(ctx context.Context, name string, c provider.Config, progress func(line string)) (ref string, err error) {
	r, err := p.recipe(ctx, name, c, progress)
	if err != nil {
		return "", fmt.Errorf("prepare session '%s': %w", name, err)
	}
	return r.image, nil
}

// recipe checks what is asked for and sees to the image. It tells progress,
// unless that is nil.
func (p *Provider) recipe(ctx context.Context, name string, c provider.Config, progress func(string)) (recipe, error) {
	spec, err := specOf(c)
	r := recipe{name: name, config: c, spec: spec}
	if err == nil {
		err = checkMounts(r.shared())
	}
	if err == nil {
		r.limits, err = resources(spec)
	}
	if err == nil {
		r.net, err = networkMode(spec.Network)
	}
	if err == nil {
		r.traits, err = p.engine.traits(ctx)
	}
	if err == nil {
		r.image, err = p.image(ctx, spec, progress)
	}
	return r, err
}

// environment is what the program gets on top of its image's: nothing of ours
// is right in there.
func (p *Provider) environment(spec home.Spec, c provider.Config) []string {
	return append(session.TerminalEnv(p.Home, spec.Term, c.WorkDir, p.Version), provider.Assignments(c.Env)...)
}

// Stop asks the session's host to end all, and removes the container. A host
// that does not answer ends with its container.
func (p *Provider) Stop(ctx context.Context, name string) error {
	err := p.sessions.Stop(ctx, name)
	if ctx.Err() != nil {
		return fmt.Errorf("stop session '%s': %w", name, ctx.Err())
	}
	switch fault.KindOf(err) {
	case "":
		return p.clearName(ctx, name)
	case fault.Unreachable, fault.Protocol, fault.Timeout:
		if forced := p.removeName(ctx, name); forced != nil {
			return errors.Join(forced, err)
		}
		return p.sessions.Stop(ctx, name) // now its record can be closed
	}
	return err // what is true could not be asked
}

// clearName removes what containers are left of a session that is over.
func (p *Provider) clearName(ctx context.Context, name string) error {
	return p.eachOf(ctx, name, p.clear)
}

// removeName removes the containers of a session, whatever runs in them.
func (p *Provider) removeName(ctx context.Context, name string) error {
	return p.eachOf(ctx, name, func(ctx context.Context, c owned) error { return p.remove(ctx, c.id) })
}

func (p *Provider) eachOf(ctx context.Context, name string, do func(context.Context, owned) error) error {
	containers, err := p.containers(ctx, name)
	if err != nil {
		return fmt.Errorf("stop session '%s': its container may still be there: %w", name, err)
	}
	for _, c := range containers {
		if err := do(ctx, c); err != nil {
			return fmt.Errorf("stop session '%s': %w", name, err)
		}
	}
	return nil
}
