package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"
)

// IsRunning goes by the record and the host's lock. A name whose last session
// is on its way out runs until its record is closed: until then it cannot be
// started again, and how it ended is not known.
func (p *Provider) IsRunning(_ context.Context, name string) (bool, error) {
	_, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return m.Status.Active(), nil
}

// ListRunning reads the Home's names, and the record of each that is ours.
func (p *Provider) ListRunning(_ context.Context, prefix string) ([]string, error) {
	p.children.Reap()
	refs, err := p.mine()
	if err != nil {
		return nil, err
	}
	var running []string
	for _, ref := range refs {
		_, m, err := p.inspect(ref)
		if fault.KindOf(err) == fault.NotFound {
			continue // collected meanwhile, or somebody else's
		}
		if err != nil {
			return nil, err
		}
		if name := m.Labels[NameLabel]; m.Status.Active() && strings.HasPrefix(name, prefix) {
			running = append(running, name)
		}
	}
	slices.Sort(running)
	return running, nil
}

// lostCode is the code of a command of which nobody knows how it ended: its
// host died first.
const lostCode = -1

// Exit reads how the command ended from the record. If the host died without
// closing it, the code is -1.
func (p *Provider) Exit(_ context.Context, name string) (*provider.Exit, error) {
	_, m, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if m.Status.Active() {
		return nil, nil
	}
	return exitOf(m), nil
}

func exitOf(m *home.Manifest) *provider.Exit {
	e := &provider.Exit{Code: lostCode, Signal: m.ExitSignal, At: m.Ended}
	if m.ExitCode != nil {
		e.Code = *m.ExitCode
	}
	return e
}

// GetLastActivity returns when the session last wrote something, and when it
// began if it never did.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	d, m, err := p.find(name)
	if err != nil {
		return time.Time{}, err
	}
	if m.Status.Active() {
		s, err := p.session(d).HostStatus(ctx)
		switch {
		case err == nil && s.LastOutput != nil:
			return *s.LastOutput, nil
		case err == nil:
			return m.Created, nil
		case fault.KindOf(err) != fault.NotRunning:
			return time.Time{}, fmt.Errorf("last activity of session '%s': %w", name, err)
		}
	}
	at, err := d.LastWrite()
	if err != nil {
		return time.Time{}, fault.Errorf(fault.Storage, "last activity of session '%s': %w", name, err)
	}
	return at, nil
}

// Title asks the host for the window title.
func (p *Provider) Title(ctx context.Context, name string) (string, error) {
	d, _, err := p.find(name)
	if err != nil {
		return "", err
	}
	s, err := p.session(d).HostStatus(ctx)
	if err != nil {
		return "", fmt.Errorf("title of session '%s': %w", name, err)
	}
	return s.Title, nil
}

// Attached asks the host who looks on.
func (p *Provider) Attached(ctx context.Context, name string) (n int, typed time.Time, err error) {
	d, _, err := p.find(name)
	if err != nil {
		return 0, time.Time{}, err
	}
	s, err := p.session(d).HostStatus(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	if s.LastTyped != nil {
		typed = *s.LastTyped
	}
	return s.Attached, typed, nil
}
