// Package instance is one agent that sleeps and wakes: its data repository, and
// what den itself keeps of it beside that, in the user's state directory.
//
// The locks, the record of the tick that runs and how the last ones ended are
// not in the data repository: the agent can write to that, and it may be on
// more than one machine.
package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/statefile"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/wake"
	"den/internal/ticks/watch"
)

// Dir is the directory of one instance.
type Dir struct {
	Path string
	Repo string // the data repository, absolute, with links followed
}

// At returns the directory for a data repository. The same repository by
// another path, or registered under another name, has the same directory: its
// locks are what keeps ticks apart.
func At(repo string, getenv func(string) string) (Dir, error) {
	abs, err := filepath.Abs(repo)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Dir{}, fault.Errorf(fault.KindOf(err), "find the data repository: %w", err)
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Dir{}, fault.Errorf(fault.Usage, "find the state directory: neither XDG_STATE_HOME nor HOME is an absolute path")
		}
		state = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(abs))
	return Dir{Path: filepath.Join(state, "den", "kernel", hex.EncodeToString(sum[:8])), Repo: abs}, nil
}

// Make creates the directory, for this user only.
func (d Dir) Make() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the instance's state directory: %w", err)
	}
	return nil
}

// TickLock is held while a tick runs, WatchLock while a watcher does.
func (d Dir) TickLock() string  { return filepath.Join(d.Path, "tick.lock") }
func (d Dir) WatchLock() string { return filepath.Join(d.Path, "watch.lock") }

func (d Dir) tick() string   { return filepath.Join(d.Path, "tick.json") }
func (d Dir) memory() string { return filepath.Join(d.Path, "watch.json") }

// LockTick takes the lock of the instance's tick. The file says who has it; the
// repository's own directory is locked after it, because a process with another
// state directory has another file.
func (d Dir) LockTick(h watch.Holder) (*watch.Lock, error) {
	return d.lock(d.TickLock(), d.Repo, "a tick of "+d.Repo, h)
}

// LockWatch takes the lock of the instance's watcher, and that of the directory
// system: ticks by hand are possible beside a watcher.
func (d Dir) LockWatch(h watch.Holder) (*watch.Lock, error) {
	if err := os.MkdirAll(d.system(), 0o755); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "watch %s: %w", d.Repo, err)
	}
	return d.lock(d.WatchLock(), d.system(), "watching "+d.Repo, h)
}

func (d Dir) system() string { return filepath.Join(d.Repo, datarepo.System) }

func (d Dir) lock(file, dir, what string, h watch.Holder) (*watch.Lock, error) {
	if err := d.Make(); err != nil {
		return nil, err
	}
	l, err := watch.Acquire(file, h)
	if fault.KindOf(err) == fault.Busy {
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "%s: %w", what, err), "'den kernel status' shows what it does")
	}
	if err != nil {
		return nil, err
	}
	err = l.AlsoDir(dir)
	if err == nil {
		return l, nil
	}
	l.Close() // Best effort: the lock on the directory is what is told of.
	if fault.KindOf(err) == fault.Busy {
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "%s: %w, and its state is not in %s", what, err, d.Path), "run both with the same XDG_STATE_HOME; 'den kernel install' writes it into the unit")
	}
	return nil, err
}

// TickHolder returns who runs a tick of the instance; held is false if nobody
// does. Of a process with another state directory only that it does is known.
func (d Dir) TickHolder() (h watch.Holder, held bool, err error) {
	return holder(d.TickLock(), d.Repo)
}

// WatchHolder is TickHolder for who watches the instance.
func (d Dir) WatchHolder() (h watch.Holder, held bool, err error) {
	return holder(d.WatchLock(), d.system())
}

// holderPoll is how often the end of a holder is looked for: the lock of a
// directory tells nobody that it is free.
const holderPoll = time.Second

// AwaitWatcher returns when nobody watches the instance, or when ctx ends.
func (d Dir) AwaitWatcher(ctx context.Context) error {
	again := time.NewTicker(holderPoll)
	defer again.Stop()
	for {
		if _, held, err := d.WatchHolder(); err != nil || !held {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func holder(file, dir string) (watch.Holder, bool, error) {
	h, held, err := watch.Held(file)
	if err != nil || held {
		return h, held, err
	}
	held, err = filelock.HeldDir(dir)
	return watch.Holder{}, held, err
}

// maxFile bounds what is read.
const maxFile = 4 << 20

// SaveTick records a tick. It survives a loss of power: hooks must not run
// twice.
func (d Dir) SaveTick(s plan.State) error {
	data, err := s.Encode()
	if err == nil {
		err = atomicfile.Write(d.tick(), data)
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "record the tick: %w", err)
	}
	return nil
}

// LoadTick returns the last tick that was recorded; found is false where there
// was none. A record that cannot be read is kept aside, and the error names it:
// the next call finds none.
func (d Dir) LoadTick(now time.Time) (s plan.State, found bool, err error) {
	s, found, err = d.PeekTick()
	if errors.Is(err, statefile.ErrDamaged) {
		err = statefile.PutAside(d.tick(), err, now)
	}
	return s, found, err
}

// PeekTick is LoadTick for who only looks: a damaged record stays where it is.
func (d Dir) PeekTick() (s plan.State, found bool, err error) {
	data, err := atomicfile.Read(d.tick(), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.State{}, false, nil
	}
	if err != nil {
		return plan.State{}, false, fault.Errorf(fault.Storage, "read the record of the last tick: %w", err)
	}
	if s, err = plan.Decode(data); err != nil {
		return plan.State{}, false, fmt.Errorf("%s: %w", d.tick(), err)
	}
	return s, true, nil
}

// SaveMemory records how the last ticks ended.
func (d Dir) SaveMemory(m watch.Memory) error {
	if err := statefile.Save(d.memory(), memoryVersion, memoryFile{Memory: m}); err != nil {
		return fault.Errorf(fault.Storage, "record how the tick ended: %w", err)
	}
	return nil
}

// Forgive forgets failures: the next tick need not wait.
func (d Dir) Forgive() error {
	m, err := d.PeekMemory()
	if err == nil && m.Failures == 0 && m.Rest == 0 {
		return nil
	}
	return d.SaveMemory(watch.Memory{})
}

const memoryVersion = 1

type memoryFile struct {
	V int `json:"v"`
	watch.Memory
}

// LoadMemory returns what SaveMemory recorded, zero where there is nothing. One
// that cannot be read is kept aside, as with LoadTick.
func (d Dir) LoadMemory(now time.Time) (watch.Memory, error) {
	m, err := d.PeekMemory()
	if errors.Is(err, statefile.ErrDamaged) {
		err = statefile.PutAside(d.memory(), err, now)
	}
	return m, err
}

// PeekMemory is LoadMemory for who only looks.
func (d Dir) PeekMemory() (watch.Memory, error) {
	f, _, err := statefile.Load[memoryFile](d.memory(), memoryVersion, maxFile)
	if err != nil {
		return watch.Memory{}, fmt.Errorf("read how the last ticks ended: %w", err)
	}
	return f.Memory, nil
}

// Instance is an open one.
type Instance struct {
	Name   string
	Remote string // that the repository was cloned from, or ""
	Dir    Dir
	Repo   *datarepo.Repo
	Wakes  *wake.Store
}

// Open opens an instance that is registered. Its caller closes it.
func Open(known registry.Instance, getenv func(string) string) (*Instance, error) {
	dir, err := At(known.Path, getenv)
	if err == nil {
		err = dir.Make()
	}
	if err != nil {
		return nil, err
	}
	repo, err := datarepo.Open(known.Path, dir.Path)
	if err != nil {
		return nil, err
	}
	wakes := wake.New(repo, filepath.Join(dir.Path, "wakes.json"), time.Local)
	return &Instance{Name: known.Name, Remote: known.Remote, Dir: dir, Repo: repo, Wakes: wakes}, nil
}

// Close releases what is open.
func (i *Instance) Close() error { return i.Repo.Close() }
