package native

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"
)

// Observe reads the records of all sessions of this owner. No host is asked:
// one that hangs must not keep the others from being observed.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	p.children.Reap()
	refs, err := p.mine()
	if err != nil {
		return nil, err
	}
	all := make(map[string]provider.Observation, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, m, err := p.inspect(ref)
		if fault.KindOf(err) == fault.NotFound {
			continue // removed meanwhile, or somebody else's
		}
		if err != nil {
			return nil, err
		}
		name := m.Labels[NameLabel]
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if all[name], err = observation(d, m); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "observe session '%s': %w", name, err)
		}
	}
	return all, nil
}

func observation(d home.Dir, m *home.Manifest) (provider.Observation, error) {
	o := provider.Observation{Running: m.Status.Active(), PID: m.PID, Started: m.Created, Attached: -1, Activity: m.Created}
	if !o.Running {
		o.Exit, o.Attached = exitOf(m), 0
	}
	at, err := d.LastWrite()
	switch {
	case err == nil:
		o.Activity = at
	case !errors.Is(err, fs.ErrNotExist): // nothing was written yet
		return o, fault.Errorf(fault.Storage, "last activity: %w", err)
	}
	meta, err := readMeta(d)
	if err != nil {
		return o, err
	}
	o.Meta = meta.all()
	return o, nil
}
