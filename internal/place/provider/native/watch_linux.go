package native

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/inotify"
	"den/internal/session/home"
)

// Watch tells of starts and ends, also for sessions that other processes start
// later, and for hosts that are killed.
//
// One inotify descriptor watches the Home's names, where sessions appear, and
// the directory of each session that runs: there the record is replaced when
// the command runs and when it has ended, and the lock is closed when the host
// is gone.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	in, err := inotify.New()
	if err != nil {
		return nil, err
	}
	w := &watch{p: p, in: in, tracked: map[string]*tracked{}, byWatch: map[int]string{}}
	if err := w.begin(); err != nil {
		in.Close()
		return nil, err
	}
	events := make(chan provider.Event) // its receiver may be slow: pending merges them
	go w.run(ctx, events)
	return events, nil
}

// watch is one call of Watch. Its goroutine owns it.
type watch struct {
	p       *Provider
	in      *inotify.Watcher
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
	if w.names, err = w.in.Add(w.p.names(), movedTo); err != nil {
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
		if t.watch, err = w.in.Add(d.Path, movedTo|closedWrite); err != nil {
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
	w.in.Remove(t.watch)
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
	defer w.in.Close()
	events := w.in.Listen()
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
func (w *watch) take(batch []inotify.Event) error {
	for _, ev := range batch {
		var err error
		switch ref, known := w.byWatch[ev.Watch]; {
		case ev.Lost:
			err = w.scan(true)
		case ev.Watch == w.names && len(ev.Name) > len(w.p.tag) && ev.Name[:len(w.p.tag)+1] == w.p.tag+".":
			err = w.refresh(ev.Name, true)
		case known && (ev.Name == "session.json" || ev.Name == "lock"):
			err = w.refresh(ref, true)
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
