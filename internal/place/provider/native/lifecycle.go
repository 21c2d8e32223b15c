package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/inherit"
	"den/internal/session"
	"den/internal/session/home"
)

// Creator makes a session and starts its host, as home.Home.Create does.
type Creator func(ctx context.Context, root home.Home, spec home.Spec) (home.Dir, *home.Manifest, error)

// Start begins a session. The one before it of that name keeps its record, for
// people who ask why it ended; the one before that goes.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	return p.StartWith(ctx, name, c, func(ctx context.Context, root home.Home, spec home.Spec) (home.Dir, *home.Manifest, error) {
		return root.Create(ctx, spec, p.Binary)
	})
}

// StartWith is Start for hosts that run elsewhere.
func (p *Provider) StartWith(ctx context.Context, name string, c provider.Config, create Creator) error {
	p.children.Reap()
	if err := CheckConfig(name, c); err != nil {
		return err
	}
	if fi, err := os.Stat(c.WorkDir); err != nil {
		return fault.Errorf(fault.Usage, "start session '%s': working directory: %w", name, err)
	} else if !fi.IsDir() {
		return fault.Errorf(fault.Usage, "start session '%s': working directory %s is not a directory", name, c.WorkDir)
	}
	before, old, err := p.find(name)
	switch {
	case err == nil && old.Status.Active():
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is %s already", name, old.Status), "stop it first, or choose another name")
	case err == nil:
		if err := p.clearFor(name, before, old); err != nil {
			return err
		}
	case fault.KindOf(err) != fault.NotFound:
		return err
	}
	spec := p.spec(name, c)
	if len(c.Meta) > 0 {
		meta, err := firstMeta(c.Meta)
		if err != nil {
			return fmt.Errorf("start session '%s': %w", name, err)
		}
		spec.Files = map[string][]byte{metaName: meta}
	}
	if old != nil {
		spec.Labels[beforeLabel] = old.ID
	}
	_, m, err := create(ctx, p.Home, spec)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	p.children.Add(m.HostPID)
	return nil
}

// clearFor makes way for the next session of a name: what the ended command
// left running must not meet its successor, and of the records before only
// this one stays. It comes first, because a start that worked must say so.
func (p *Provider) clearFor(name string, d home.Dir, m *home.Manifest) error {
	_, err := d.Reconcile()
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	if _, err := d.Sweep(); err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	if err := p.discard(m.Labels[beforeLabel]); err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	return nil
}

// CheckConfig refuses what no session of den is started with, wherever it runs.
func CheckConfig(name string, c provider.Config) error {
	if err := provider.CheckName(name); err != nil {
		return err
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fault.Errorf(fault.Usage, "start session '%s': no command is given", name)
	}
	if !filepath.IsAbs(c.WorkDir) {
		return fault.Errorf(fault.Usage, "start session '%s': working directory '%s' is not an absolute path", name, c.WorkDir)
	}
	for k, v := range c.Env {
		if !inherit.Valid(k, v) {
			return fault.Errorf(fault.Usage, "start session '%s': %q cannot be an environment variable", name, k)
		}
		if k == home.HostMark || k == home.ProgramMark || k == home.SessionMark { // by these a session's processes are told apart
			return fault.Errorf(fault.Usage, "start session '%s': the environment variable %s is den's own", name, k)
		}
	}
	return nil
}

func (p *Provider) spec(name string, c provider.Config) home.Spec {
	env := append(inherit.Environ(os.Environ()), session.TerminalEnv(p.Home, session.DefaultTerm, c.WorkDir, p.Version)...)
	return home.Spec{
		Name: p.ref(name), Command: c.Argv, Cwd: c.WorkDir, Env: append(env, provider.Assignments(c.Env)...), Term: session.DefaultTerm,
		Cols: provider.Cols, Rows: provider.Rows,
		Labels: map[string]string{OwnerLabel: p.Owner, NameLabel: name}, RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}
}

// discard removes a session that was replaced twice. It is over: a name is
// claimed only when its last session is.
func (p *Provider) discard(id string) error {
	if id == "" {
		return nil
	}
	d := p.Home.Dir(id)
	m, err := d.Inspect()
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil // gc was here
	case err != nil:
		return fmt.Errorf("remove old session '%s': %w", id, err)
	case m.Status.Active() || m.Labels[OwnerLabel] != p.Owner:
		return nil // not what the label meant: let it be
	}
	// The record first, so that nobody finds half a session.
	if err := os.Remove(filepath.Join(d.Path, "session.json")); err != nil {
		return fault.Errorf(fault.Storage, "remove old session '%s': %w", id, err)
	}
	if err := os.RemoveAll(d.Path); err != nil {
		return fault.Errorf(fault.Storage, "remove old session '%s': %w", id, err)
	}
	return nil
}

// Stop ends the session with all its processes. Its record stays.
func (p *Provider) Stop(ctx context.Context, name string) error {
	d, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.children.Reap()
	if m.Status.Active() {
		if _, err := p.session(d).Kill(ctx, p.Grace); err != nil && fault.KindOf(err) != fault.NotFound {
			return fmt.Errorf("stop session '%s': %w", name, err)
		}
	}
	if _, err := d.Reconcile(); err != nil && fault.KindOf(err) != fault.NotFound {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	// What outlived a command that ended by itself, or its host. Also after a
	// kill: a host looks for its processes by parent links, and may miss one
	// that changes its parent while it looks.
	if _, err := d.Sweep(); err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	return nil
}

// Interrupt presses Ctrl-C.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	return p.SendKeys(ctx, name, "C-c")
}
