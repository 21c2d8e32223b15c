package subprocess

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess/shim"
)

// state is what is true of a session at one moment.
type state struct {
	dir    shim.Dir
	record *shim.Record
	end    *shim.End // or nil
	held   bool      // its shim is there
}

// running: the command runs. A shim that ends what the command left behind
// still holds the lock.
func (s *state) running() bool { return s.held && s.end == nil }

// lost reports whether the shim and its command were killed before the shim
// recorded an end.
func (s *state) lost() bool { return !s.held && s.end == nil }

// inspect looks at one session. One that never was is fault.NotFound.
func (p *Provider) inspect(name string) (*state, error) {
	if err := provider.CheckName(name); err != nil {
		return nil, err
	}
	for {
		s, err := p.inspectOnce(name)
		if err != nil || !s.lost() {
			return s, err
		}
		// The lock is looked at before the files, and a shim writes its files
		// before it lets go; so this one is lost, unless it was started anew
		// between the two looks.
		again, err := p.inspectOnce(name)
		if err != nil || again.lost() && again.record.ID == s.record.ID {
			return again, err
		}
	}
}

func (p *Provider) inspectOnce(name string) (*state, error) {
	l, err := readLock(p.root.lock(name))
	if err != nil {
		return nil, err
	}
	s := &state{dir: p.root.session(name), held: l.held}
	if s.record, err = s.dir.Record(); err != nil {
		if fault.KindOf(err) == fault.NotFound {
			return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no session '%s'", name), "it was never started here by %s", p.owner)
		}
		return nil, fault.Errorf(fault.KindOf(err), "read the record of session '%s': %w", name, err)
	}
	if s.record.Name != name {
		return nil, fault.Errorf(fault.Storage, "the record in %s is of session '%s', not of '%s'", s.dir, s.record.Name, name)
	}
	if s.end, err = s.dir.End(); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "read the end of session '%s': %w", name, err)
	}
	if s.end != nil && s.end.ID != s.record.ID {
		s.end = nil // of an earlier life
	}
	return s, nil
}

// IsRunning reports whether the session's command runs.
func (p *Provider) IsRunning(_ context.Context, name string) (bool, error) {
	started.Reap()
	s, err := p.inspect(name)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.running(), nil
}

// ListRunning returns the running sessions whose names begin with prefix.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	started.Reap()
	entries, err := os.ReadDir(p.root.locks())
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "list sessions: %w", err)
	}
	var names []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := readLock(filepath.Join(p.root.locks(), e.Name()))
		if err != nil {
			return nil, err
		}
		if !l.held || l.name == "" || !strings.HasPrefix(l.name, prefix) {
			continue
		}
		running, err := p.IsRunning(ctx, l.name)
		if err != nil {
			return nil, err
		}
		if running {
			names = append(names, l.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// lostExit is how a command ends whose shim was killed: the kernel kills it
// in the same moment. When that was, nobody wrote down.
var lostExit = provider.Exit{Code: 137, Signal: "SIGKILL"}

// Exit returns how the session's command ended, nil while it runs.
func (p *Provider) Exit(_ context.Context, name string) (*provider.Exit, error) {
	s, err := p.inspect(name)
	if err != nil {
		return nil, err
	}
	return s.exit(), nil
}

func (s *state) exit() *provider.Exit {
	switch {
	case s.running():
		return nil
	case s.lost():
		exit := lostExit
		return &exit
	}
	return &provider.Exit{Code: s.end.Code, Signal: s.end.Signal, At: s.end.At}
}
