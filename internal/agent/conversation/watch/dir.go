package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"den/internal/base/fault"
)

// A Dir tells of changes in directories, which may not exist yet.
type Dir struct {
	notify  *fsnotify.Watcher
	events  chan struct{} // room for one token: more are merged
	running sync.WaitGroup

	mu     sync.Mutex // guards the field below
	wanted map[string]bool
}

// OpenDir watches directories. For one that does not exist, the nearest that
// does is watched until it comes.
func OpenDir(dirs ...string) (*Dir, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Storage, "watch directories: %w", err), "the limit is in /proc/sys/fs/inotify/max_user_instances")
	}
	d := &Dir{notify: notify, events: make(chan struct{}, 1), wanted: map[string]bool{}}
	for _, dir := range dirs {
		if err := d.Add(dir); err != nil {
			return nil, errors.Join(err, notify.Close())
		}
	}
	d.running.Go(d.run)
	return d, nil
}

// Add watches one more directory.
func (d *Dir) Add(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wanted[dir] {
		return nil
	}
	there, err := d.watchNearest(dir)
	d.wanted[dir] = there
	return err
}

// watchNearest watches dir, or what stands nearest above it, and reports
// whether it was dir itself.
func (d *Dir) watchNearest(dir string) (bool, error) {
	missing := ""
	for at := dir; ; at = filepath.Dir(at) {
		err := d.notify.Add(at)
		switch {
		case err == nil && at == dir:
			return true, nil
		case err == nil:
			if _, err := os.Stat(missing); err == nil {
				at = filepath.Join(dir, "again") // it came before the watch: once more from dir
				continue
			}
			return false, nil
		case !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at):
			return false, fault.Errorf(fault.Storage, "watch %s: %w", at, err)
		}
		missing = at
	}
}

// Events receives after something changed. It is not closed.
func (d *Dir) Events() <-chan struct{} { return d.events }

// Close ends the watch.
func (d *Dir) Close() error {
	err := d.notify.Close()
	d.running.Wait()
	return err
}

func (d *Dir) run() {
	for {
		select {
		case _, open := <-d.notify.Events:
			if !open {
				return
			}
		case _, open := <-d.notify.Errors: // the kernel's queue was full: read again
			if !open {
				return
			}
		}
		d.approach()
		tell(d.events)
	}
}

// approach moves the watches of missing directories nearer to them.
func (d *Dir) approach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir, there := range d.wanted {
		if !there {
			// Best effort: the source reads at intervals, too.
			d.wanted[dir], _ = d.watchNearest(dir)
		}
	}
}
