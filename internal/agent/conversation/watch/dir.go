package watch

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/wake"
)

// A Dir tells of changes in directories, which may not exist yet.
type Dir struct {
	notify  *fsnotify.Watcher
	events  wake.Signal // room for one token: more are merged
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
	d := &Dir{notify: notify, events: wake.New(), wanted: map[string]bool{}}
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
		d.events.Set()
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

// maxRead bounds one read of a Tail; the rest is read the next time.
const maxRead = 64 << 20

// A Tail reads the lines of a file that grows, each once.
type Tail struct {
	Path string
	// Offset is where the next read begins. A Tail that begins within a line
	// reads the rest of it as a line.
	Offset int64
}

// TailFrom is a Tail of a file's last bytes.
func TailFrom(path string, last int64) (*Tail, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the end of %s: %w", path, err)
	}
	return &Tail{Path: path, Offset: max(0, fi.Size()-last)}, nil
}

// Read calls each with the lines that were added. One that is not whole yet is
// left for the next time. Where the file was written anew, forget is called
// first, and all of its lines are read.
func (t *Tail) Read(forget func(), each func(line []byte)) error {
	f, err := os.Open(t.Path)
	if err != nil {
		return fault.Errorf(fault.Storage, "read the end of %s: %w", t.Path, err)
	}
	defer f.Close() // Best effort: it was only read.
	if fi, err := f.Stat(); err == nil && fi.Size() < t.Offset {
		t.Offset = 0
		forget()
	}
	data, err := io.ReadAll(io.NewSectionReader(f, t.Offset, maxRead))
	if err != nil {
		return fault.Errorf(fault.Storage, "read the end of %s: %w", t.Path, err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		each(line)
	}
	t.Offset += int64(whole)
	return nil
}

// lookBack is how much of a file's end is searched for a message. One further
// up was asked too long ago.
const lookBack = 16 << 20

// A Reading reads a record that grows for what it tells of one message: each
// line once, for as long as the message is the same.
type Reading[T any] struct {
	New   func(m conversation.Asked) T // what is known before the first line
	Apply func(turn T, line []byte)    // takes a line in; one that it cannot read is none

	mu    sync.Mutex // guards the fields below, and is held while the file is read
	tail  *Tail      // or nil
	asked conversation.Asked
	turn  T
}

// Read takes the new lines in and calls tell with what is known then. Nobody
// else reads meanwhile.
func (r *Reading[T]) Read(path string, m conversation.Asked, tell func(T)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail == nil || r.tail.Path != path || r.asked != m {
		tail, err := TailFrom(path, lookBack)
		if err != nil {
			return err
		}
		r.tail, r.asked, r.turn = tail, m, r.New(m)
	}
	err := r.tail.Read(func() { r.turn = r.New(m) }, func(line []byte) { r.Apply(r.turn, line) })
	if err == nil {
		tell(r.turn)
	}
	return err
}
