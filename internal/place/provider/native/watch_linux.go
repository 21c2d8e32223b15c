package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"
)

// Watch tells of starts, ends and metadata when they change, also for sessions
// that other processes start later, and for hosts that are killed.
//
// One inotify descriptor watches the Home's names, where sessions appear, and
// the directory of each session that runs: there the record is replaced when
// the command runs and when it has ended, and the lock is closed when the host
// is gone.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	in, err := newInotify()
	if err != nil {
		return nil, err
	}
	w := &watch{p: p, in: in, tracked: map[string]*tracked{}, byWatch: map[int]string{}}
	if err := w.begin(); err != nil {
		in.close()
		return nil, err
	}
	events := make(chan provider.Event) // its receiver may be slow: pending merges them
	go w.run(ctx, events)
	return events, nil
}

// watch is one call of Watch. Its goroutine owns it.
type watch struct {
	p       *Provider
	in      *inotify
	names   int                 // the watch of the Home's names
	tracked map[string]*tracked // by the session's name in the Home
	byWatch map[int]string
	pending provider.EventQueue
}

// tracked is the newest session known under a name in the Home.
type tracked struct {
	id      string
	name    string
	watch   int  // of its directory; -1 once it is over
	started bool // its start was told, or was before the call
}

// begin takes in what there is. What ended before is not told.
func (w *watch) begin() (err error) {
	if w.names, err = w.in.add(w.p.names(), movedTo); err != nil {
		return err
	}
	return w.scan(false)
}

// scan refreshes all names of this owner, at first and when events were lost.
func (w *watch) scan(tell bool) error {
	refs, err := w.p.mine()
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := w.refresh(ref, tell); err != nil {
			return err
		}
	}
	return nil
}

// refresh brings a name up to date. A session that is over when it is first seen
// ended since the call, unless this is the first scan.
func (w *watch) refresh(ref string, tell bool) error {
	d, m, err := w.p.inspect(ref)
	if err != nil {
		return ignoreMissing(err)
	}
	t := w.tracked[ref]
	switch {
	case t == nil || d.ID > t.id: // ids sort by time
		if t != nil && t.watch >= 0 {
			w.forget(t)
			if w.p.stood(t.id) { // and is over, or its name could not be taken
				w.tell(t, provider.Ended)
			}
		}
		t = &tracked{id: d.ID, name: m.Labels[NameLabel], watch: -1, started: !tell && m.Status != home.Starting}
		w.tracked[ref] = t
		if m.Status.Final() {
			if tell {
				w.tell(t, provider.Started)
				w.tell(t, provider.Ended)
			}
			return nil
		}
		if t.watch, err = w.in.add(d.Path, movedTo|closedWrite); err != nil {
			t.watch = -1
			if !w.p.stood(d.ID) {
				return nil // a start that failed meanwhile
			}
			return err
		}
		w.byWatch[t.watch] = ref
		if m, err = d.Inspect(); err != nil { // it may have ended before it was watched
			return ignoreMissing(err)
		}
	case d.ID < t.id || t.watch < 0:
		return nil // an old one whose successor could not start, or told already
	}
	if !t.started && m.Status != home.Starting {
		t.started = true
		w.tell(t, provider.Started)
	}
	if m.Status.Final() {
		w.forget(t)
		w.tell(t, provider.Ended)
	}
	return nil
}

// ignoreMissing passes over a start that failed, and what is not ours.
func ignoreMissing(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// stood reports whether a session came to be: one that could not start leaves
// no record, one that ended does, until its name was taken twice.
func (p *Provider) stood(id string) bool {
	_, err := p.Home.Dir(id).Load()
	return fault.KindOf(err) != fault.NotFound
}

// forget ends the watch of a session that is over.
func (w *watch) forget(t *tracked) {
	w.in.remove(t.watch)
	delete(w.byWatch, t.watch)
	t.watch = -1
}

func (w *watch) tell(t *tracked, change provider.Change) {
	w.pending.Add(provider.Event{Name: t.name, Change: change})
}

// run passes events on until the context ends. It cannot report that the Home
// can no longer be asked; the closed channel tells.
func (w *watch) run(ctx context.Context, out chan<- provider.Event) {
	defer close(out)
	events := make(chan []event) // unbuffered: what is not taken waits in the kernel
	stop := make(chan struct{})
	read := make(chan struct{})
	go func() { defer close(read); w.in.read(events, stop) }()
	defer func() {
		close(stop)
		w.in.close()
		<-read
	}()
	for {
		to, next := w.pending.Next(out)
		select {
		case to <- next:
			w.pending.Sent()
		case batch, ok := <-events:
			if !ok || w.take(batch) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// take refreshes the sessions that events are about.
func (w *watch) take(batch []event) error {
	for _, ev := range batch {
		var err error
		switch ref, known := w.byWatch[ev.watch]; {
		case ev.lost:
			err = w.scan(true)
		case ev.watch == w.names && len(ev.name) > len(w.p.tag) && ev.name[:len(w.p.tag)+1] == w.p.tag+".":
			err = w.refresh(ev.name, true)
		case known && (ev.name == "session.json" || ev.name == "lock"):
			err = w.refresh(ref, true)
		case known && ev.name == metaName:
			w.tell(w.tracked[ref], provider.MetaChanged)
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", filepath.Base(w.p.Home.Path), err)
		}
	}
	return nil
}

// What is asked of inotify: a file renamed into a directory, and one in it
// closed that was open for writing.
const (
	movedTo     = syscall.IN_MOVED_TO
	closedWrite = syscall.IN_CLOSE_WRITE
)

// event is one change in a watched directory.
type event struct {
	watch int
	name  string
	lost  bool // the kernel's queue was full: look at everything
}

// inotify is a descriptor whose reads end when it is closed.
type inotify struct {
	file *os.File
	fd   int // valid until close
}

func newInotify() (*inotify, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, fault.Hintf(fmt.Errorf("watch sessions: %w", err), "the limit is in /proc/sys/fs/inotify/max_user_instances")
	}
	return &inotify{file: os.NewFile(uintptr(fd), "inotify"), fd: fd}, nil
}

func (in *inotify) add(dir string, mask uint32) (int, error) {
	w, err := syscall.InotifyAddWatch(in.fd, dir, mask|syscall.IN_ONLYDIR)
	if err != nil {
		return 0, fault.Hintf(fault.Errorf(fault.Storage, "watch %s: %w", dir, err), "the limit is in /proc/sys/fs/inotify/max_user_watches")
	}
	return w, nil
}

func (in *inotify) remove(watch int) {
	_, _ = syscall.InotifyRmWatch(in.fd, uint32(watch)) // Best effort: it goes with its directory.
}

func (in *inotify) close() { in.file.Close() } // Best effort: nothing was written.

// read sends what comes until stop or close, and then closes events.
func (in *inotify) read(events chan<- []event, stop <-chan struct{}) {
	defer close(events)
	buf := make([]byte, 64<<10)
	for {
		n, err := in.file.Read(buf)
		if err != nil {
			return
		}
		select {
		case events <- parseEvents(buf[:n]):
		case <-stop:
			return
		}
	}
}

func parseEvents(raw []byte) []event {
	var all []event
	for len(raw) >= syscall.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(raw[4:])
		size := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(raw[12:]))
		name, _, _ := bytes.Cut(raw[syscall.SizeofInotifyEvent:size], []byte{0})
		all = append(all, event{
			watch: int(int32(binary.NativeEndian.Uint32(raw))), name: string(name),
			lost: mask&syscall.IN_Q_OVERFLOW != 0,
		})
		raw = raw[size:]
	}
	return all
}
