package subprocess

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Observe reads the files of all sessions of this owner. No shim is asked.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	started.Reap()
	entries, err := os.ReadDir(p.root.locks())
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "observe sessions: %w", err)
	}
	all := map[string]provider.Observation{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := readLock(filepath.Join(p.root.locks(), e.Name()))
		if err != nil {
			return nil, err
		}
		if l.name == "" || !strings.HasPrefix(l.name, prefix) {
			continue
		}
		o, err := p.observation(l.name)
		if fault.KindOf(err) == fault.NotFound {
			continue // pruned: the lock stays, to count starts
		}
		if err != nil {
			return nil, err
		}
		all[l.name] = o
	}
	return all, nil
}

func (p *Provider) observation(name string) (provider.Observation, error) {
	s, err := p.inspect(name)
	if err != nil {
		return provider.Observation{}, err
	}
	o := provider.Observation{Running: s.running(), PID: s.record.PID, Started: s.record.Started, Exit: s.exit(), Activity: s.lastWrite()}
	o.Meta, err = allMeta(metaDir(s.dir))
	return o, err
}

// lastWrite is when the command last wrote something, and when it was started
// where it never did. The shim writes to the log whenever the command writes.
func (s *state) lastWrite() time.Time {
	if s.end != nil {
		return s.end.Active
	}
	fi, err := os.Stat(s.dir.LogFile())
	if err != nil || fi.Size() == 0 {
		return s.record.Started
	}
	return fi.ModTime()
}

// allMeta reads every value. A session that is started anew meanwhile has none.
func allMeta(dir string) (map[string]string, error) {
	meta := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Errorf(fault.Storage, "read metadata: %w", err)
	}
	for _, e := range entries {
		key, ok := nameOf(e.Name())
		if !ok {
			continue // a file that is being written, or a key too long for a file's name: GetMeta has it
		}
		value, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Errorf(fault.Storage, "read metadata: %w", err)
		}
		meta[key] = string(value)
	}
	return meta, nil
}
