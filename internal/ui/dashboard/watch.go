package dashboard

import (
	"context"
	"iter"
	"path/filepath"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// pollInterval is for changes without a notification: a host that was
	// killed, and the time of a session's last output.
	pollInterval = 2 * time.Second
	// coalescePause is the least time between two refreshes in a flood of
	// notifications.
	coalescePause = 100 * time.Millisecond
	// maxWatches bounds the directories that are watched; what is above it is
	// found by the next refresh.
	maxWatches = 2048
)

// Watch yields the listing, and again whenever it changes, until ctx is done.
// New and ended sessions are noticed at once where directories can be watched,
// and within two seconds elsewhere.
func (m *Model) Watch(ctx context.Context) iter.Seq[*Listing] {
	return func(yield func(*Listing) bool) {
		w := newWatcher()
		defer w.close()
		var shown *Listing
		for ctx.Err() == nil {
			l := m.List()
			if w.follow(m, l) {
				l = m.List() // what changed before it was watched
			}
			if shown == nil || !reflect.DeepEqual(l, shown) {
				shown = l
				if !yield(l) {
					return
				}
			}
			w.wait(ctx)
		}
	}
}

// watcher watches the directories that affect a listing.
type watcher struct {
	w       *fsnotify.Watcher // or nil: polling only
	watched map[string]bool
}

func newWatcher() *watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &watcher{} // instances are few on some machines
	}
	return &watcher{w: w, watched: map[string]bool{}}
}

func (w *watcher) close() {
	if w.w != nil {
		w.w.Close()
	}
}

// follow watches what the listing shows, and no more. It reports whether a
// directory was added.
func (w *watcher) follow(m *Model, l *Listing) (added bool) {
	if w.w == nil {
		return false
	}
	want := wanted(m, l)
	for dir := range w.watched {
		if !want[dir] {
			delete(w.watched, dir)
			_ = w.w.Remove(dir) // Best effort: a directory that is gone is not watched any more.
		}
	}
	for dir := range want {
		if w.watched[dir] || len(w.watched) >= maxWatches {
			continue
		}
		if w.w.Add(dir) == nil { // not there yet, or too many: the next refresh finds it
			w.watched[dir], added = true, true
		}
	}
	return added
}

// wanted lists the directories: the registry's, those in which sessions are
// made and named, those of active sessions, whose records are replaced, and, as
// far as there is room, those of ended ones that nobody has looked at yet.
func wanted(m *Model, l *Listing) map[string]bool {
	want := map[string]bool{}
	if m.registry.Path != "" {
		want[filepath.Dir(m.registry.Path)] = true
	}
	for _, h := range l.Homes {
		want[h.Path] = true
		want[filepath.Join(h.Path, "sessions")] = true
		want[filepath.Join(h.Path, "names")] = true
		for _, s := range h.Sessions {
			if s.Status.Active() {
				want[s.Dir.Path] = true
			}
		}
	}
	for _, h := range l.Homes {
		for _, s := range h.Sessions {
			if s.Status.Final() && s.Attention.State.NeedsPerson() && len(want) < maxWatches {
				want[s.Dir.Path] = true
			}
		}
	}
	return want
}

// wait returns when it is time to refresh.
func (w *watcher) wait(ctx context.Context) {
	late := time.NewTimer(pollInterval)
	defer late.Stop()
	var events chan fsnotify.Event // nothing comes where nothing is watched
	var overflows chan error       // refresh everything
	if w.w != nil {
		events, overflows = w.w.Events, w.w.Errors
	}
	select {
	case <-ctx.Done():
		return
	case <-late.C:
		return
	case <-events:
	case <-overflows:
	}
	w.coalesce(ctx)
}

// coalesce drops the notifications of the next coalescePause: one refresh
// answers all of them.
func (w *watcher) coalesce(ctx context.Context) {
	pause := time.NewTimer(coalescePause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
			return
		case <-w.w.Events:
		case <-w.w.Errors:
		}
	}
}
