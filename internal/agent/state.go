package agent

import (
	"context"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Drift returns what makes the running agent another than it should be, nil
// for nothing. A session without a fingerprint is not den's doing, or its start
// was cut off: it drifts.
func (m *Managed) Drift(ctx context.Context) ([]string, error) {
	kept, err := m.provider.GetMeta(ctx, m.session, MetaFingerprint)
	if err != nil {
		return nil, err
	}
	if kept == "" {
		return []string{"no fingerprint: its start was cut off"}, nil
	}
	was, err := ParseFingerprint(kept)
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", m.name, err)
	}
	return was.Diff(m.Fingerprint()), nil
}

// Glance tells what an observation of its session says of the agent: whether it
// runs, and whether it takes a closer look to know that it is as it should be.
func (m *Managed) Glance(o provider.Observation) (running, closer bool) {
	was, err := ParseFingerprint(o.Meta[MetaFingerprint])
	closer = err != nil || len(was.Diff(m.Fingerprint())) > 0 || len(m.config.Hints.ProcessNames) > 0
	return o.Running, closer
}

// Held says why the agent must be left alone now, "" for no reason: a person
// is at its terminal, or it asks somebody for a decision.
func (m *Managed) Held(ctx context.Context) (string, error) {
	if a, ok := m.provider.(provider.Audience); ok {
		n, _, err := a.Attached(ctx, m.session)
		if err != nil && fault.KindOf(err) != fault.Unsupported {
			return "", err
		}
		if n > 0 {
			return "somebody is attached", nil
		}
	}
	asks, err := m.screen.Asks(ctx)
	if err != nil || !asks {
		return "", err
	}
	return "it asks for a decision", nil
}

// Activity is when it last wrote something.
func (m *Managed) Activity(ctx context.Context) (time.Time, error) {
	at, err := m.provider.GetLastActivity(ctx, m.session)
	if fault.KindOf(err) == fault.Unsupported {
		return time.Time{}, nil
	}
	return at, err
}

// Exit is how it ended, nil while it runs and where that is not known.
func (m *Managed) Exit(ctx context.Context) (*provider.Exit, error) {
	p, ok := m.provider.(provider.Postmortem)
	if !ok {
		return nil, nil
	}
	exit, err := p.Exit(ctx, m.session)
	if k := fault.KindOf(err); k == fault.NotFound || k == fault.Unsupported {
		return nil, nil
	}
	return exit, err
}
