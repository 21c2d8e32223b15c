package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/poll"
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
	var names []string
	err := p.eachStarted(ctx, prefix, func(l lockState) error {
		if !l.held {
			return nil
		}
		running, err := p.IsRunning(ctx, l.name)
		if running {
			names = append(names, l.name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// eachStarted calls do for each session of this owner that was ever started and
// whose name begins with prefix, until one fails.
func (p *Provider) eachStarted(ctx context.Context, prefix string, do func(lockState) error) error {
	started.Reap()
	entries, err := os.ReadDir(p.root.locks())
	if err != nil {
		return fault.Errorf(fault.Storage, "list sessions: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := readLock(filepath.Join(p.root.locks(), e.Name()))
		if err == nil && l.name != "" && strings.HasPrefix(l.name, prefix) {
			err = do(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// A session's lock is held from the moment that somebody begins to start it
// until its shim has ended: the starter takes it and hands the descriptor on,
// so there is no moment without an owner. Its file is never removed.

// lockState is what a lock's file tells.
type lockState struct {
	held   bool
	starts int    // how often a session of that name was started
	name   string // "" where it never was
}

// ended is the number of the last start that has ended: while the lock is
// held, the one before.
func (l lockState) ended() int {
	if l.held {
		return l.starts - 1
	}
	return l.starts
}

// readLock reads a lock's state. A missing file is held by nobody.
func readLock(path string) (lockState, error) {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The directory was made when the provider was opened. If it is gone,
		// nobody knows what runs.
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			return lockState{}, nil
		}
	}
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "read lock: %w", err)
	}
	defer f.Close() // Best effort: it was only read.
	held, err := filelock.HeldFile(f)
	if err != nil {
		return lockState{}, fault.Errorf(fault.Storage, "read lock: %w", err)
	}
	starts, name, err := shim.ReadLock(f)
	return lockState{held, starts, name}, err
}

// longestPause is that between two looks at something that is about to happen.
const longestPause = 20 * time.Millisecond

// untilFree waits until nobody holds the lock.
func untilFree(ctx context.Context, path string) error {
	err := poll.Every(ctx, longestPause, func() (bool, error) {
		l, err := readLock(path)
		return !l.held, err
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("wait for the session's end: %w", ctx.Err())
	}
	return err
}

// Observe reads the files of all sessions of this owner. No shim is asked.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	all := map[string]provider.Observation{}
	err := p.eachStarted(ctx, prefix, func(l lockState) error {
		o, err := p.observation(l.name)
		switch {
		case fault.KindOf(err) == fault.NotFound: // pruned: the lock stays, to count starts
		case err != nil:
			return err
		default:
			all[l.name] = o
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (p *Provider) observation(name string) (provider.Observation, error) {
	s, err := p.inspect(name)
	if err != nil {
		return provider.Observation{}, err
	}
	o := provider.Observation{Running: s.running(), Exit: s.exit()}
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

// ChangeStamp names the start and the end of the output's file. The shim is
// not asked.
func (p *Provider) ChangeStamp(_ context.Context, name string) (string, error) {
	s, err := p.inspect(name)
	if err != nil {
		return "", err
	}
	stamp := s.record.Started.String()
	fi, err := os.Stat(s.dir.LogFile())
	switch {
	case err == nil:
		return fmt.Sprintf("%s:%d:%d", stamp, fi.Size(), fi.ModTime().UnixNano()), nil
	case errors.Is(err, fs.ErrNotExist):
		return stamp, nil // it has written nothing yet
	}
	return "", fault.Errorf(fault.Storage, "stamp of session '%s': %w", name, err)
}
