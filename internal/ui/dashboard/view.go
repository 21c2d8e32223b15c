package dashboard

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/home"

	"github.com/fsnotify/fsnotify"
)

// A View is one reader of a session's screens. It belongs to one goroutine.
type View struct {
	model *Model
	feed  *feed
	gap   time.Duration // between two of its frames
	rev   uint64        // of the frame that was handed out last
	due   time.Time     // before then it gets no other
	done  bool          // closed
}

// Live returns a View that follows a session, starting at the last repaint in
// its log. The caller closes it.
func (m *Model) Live(d home.Dir) *View { return m.Glance(d, m.interval) }

// Glance is Live with at least gap between two screens, which costs less.
func (m *Model) Glance(d home.Dir, gap time.Duration) *View {
	v := &View{model: m, gap: max(gap, m.interval)}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.feeds[d.Path]
	if f == nil {
		ctx, cancel := context.WithCancel(m.ctx)
		f = &feed{dir: d, budget: &m.budget, begin: m.begin, cancel: cancel, views: map[*View]bool{}}
		m.feeds[d.Path] = f
		f.gap = v.gap
		if m.closed {
			f.over, f.err = true, context.Canceled
		} else {
			m.work.Go(func() { f.run(ctx) })
		}
	}
	v.feed = f
	f.views[v] = true
	f.hurry()
	return v
}

// hurry sets the gap between frames to the smallest that a view wants. The
// caller holds Model.mu.
func (f *feed) hurry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := true
	for v := range f.views {
		if first || v.gap < f.gap {
			f.gap, first = v.gap, false
		}
	}
}

// Next waits for a screen newer than the last one it returned, and returns the
// newest. After the last screen of an ended session it returns io.EOF. If the
// session was removed, the error is fault.NotFound. Errors are sticky.
func (v *View) Next(ctx context.Context) (*Frame, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if poll.Pause(ctx, time.Until(v.due)) != nil {
			return nil, ctx.Err()
		}
		now := time.Now()
		frame, changed, wait, err := v.feed.next(v.rev, now)
		if err != nil {
			return nil, err
		}
		if frame != nil {
			v.rev, v.due = frame.Rev, now.Add(v.gap)
			return frame, nil
		}
		if !v.await(ctx, changed, wait) && v.feed.removed() {
			return nil, v.feed.wasRemoved()
		}
	}
}

// await returns when there may be a new frame: in a flood when one may be
// taken, otherwise when something changes. It returns false if nothing did for
// a while.
func (v *View) await(ctx context.Context, changed <-chan struct{}, wait time.Duration) bool {
	flood := wait > 0
	if flood {
		changed = nil
	} else {
		wait = pollInterval
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-changed:
		return true
	case <-t.C:
		return flood
	}
}

// removed reports whether the session's directory is gone. The follower may
// not be notified of that, because its own open file keeps the directory in
// use.
func (f *feed) removed() bool {
	_, err := os.Stat(f.dir.Path)
	return errors.Is(err, fs.ErrNotExist)
}

func (f *feed) wasRemoved() error {
	return fault.Errorf(fault.NotFound, "session '%s' was removed", f.dir.ID)
}

// Close ends the view, and the feed with its last view. It may be called
// twice, but not during Next: cancel that by its context.
func (v *View) Close() {
	m := v.model
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.done {
		return
	}
	v.done = true
	delete(v.feed.views, v)
	if len(v.feed.views) == 0 {
		v.feed.cancel()
		delete(m.feeds, v.feed.dir.Path)
		return
	}
	v.feed.hurry()
}

// A Frame is a session's screen at one moment.
type Frame struct {
	// Rev counts the frames of a followed session, from 1; a frame of the past has 0.
	Rev     uint64           `json:"rev"`
	Seq     uint64           `json:"seq"`               // of the last event that it shows
	Elapsed time.Duration    `json:"elapsed_ns"`        // of that event, since the session's start
	Exit    string           `json:"exit,omitempty"`    // the status, if the program had ended
	Missing []string         `json:"missing,omitempty"` // what of the log could not be read
	Screen  *screen.Snapshot `json:"screen"`
}

func newFrame(t *vt.Terminal, at eventlog.Position) *Frame {
	s := screen.Capture(t, 0)
	return &Frame{Seq: at.Seq, Elapsed: at.Elapsed, Screen: &s}
}

// Changed returns the rows of to, from 0, that differ from those of from. With a
// nil from, or another size, they are all, which full says.
func Changed(from, to *Frame) (rows []int, full bool) {
	s := to.Screen
	full = from == nil || from.Screen.Cols != s.Cols || from.Screen.Rows != s.Rows
	for i, line := range s.Lines {
		if full || !sameLine(from.Screen.Lines[i], line) {
			rows = append(rows, i)
		}
	}
	return rows, full
}

// IsASCII reports whether each byte of a run's text fills one cell.
func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func sameLine(a, b screen.Line) bool {
	return a.Wrapped == b.Wrapped && a.Size == b.Size && slices.Equal(a.Images, b.Images) && slices.Equal(a.Runs, b.Runs)
}

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
	for s := range l.All() {
		if s.Status.Final() && s.Attention.State.NeedsPerson() && len(want) < maxWatches {
			want[s.Dir.Path] = true
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
