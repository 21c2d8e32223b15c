package dashboard

import (
	"context"
	"io"
	"sync"
	"time"

	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/replay"
	"den/internal/session"
	"den/internal/vt"
)

const (
	// syncPatience is how long a program may take to draw what it announced
	// as one update, before the unfinished screen is shown.
	syncPatience = 200 * time.Millisecond
	// checkBehind is how much output is emulated before the feed looks
	// whether the log has left it behind.
	checkBehind = 8 << 20
	// retryStart is between two looks for the log of a session that starts.
	retryStart = 50 * time.Millisecond
)

// feed is one session, followed: its goroutine applies the events, the views
// take the frames.
type feed struct {
	dir      session.Dir
	interval time.Duration
	cancel   context.CancelFunc
	views    int // guarded by Model.mu

	mu      sync.Mutex   // guards the fields below
	term    *vt.Terminal // or nil: nothing was read yet
	at      eventlog.Position
	exit    string
	missing []string
	change  uint64        // counts what a new frame would show
	changed chan struct{} // or nil: nobody waits; closed at the next change
	syncing time.Time     // since when an announced update is being drawn, or zero
	over    bool          // no event will come
	err     error         // why, or nil: the exit was read

	frame    *Frame // the last one taken, or nil
	shows    uint64 // the change that it shows
	captured time.Time
}

// run follows the log until ctx ends, the session does, or it cannot be read.
func (f *feed) run(ctx context.Context) {
	err := f.start(ctx)
	for err == nil && ctx.Err() == nil {
		var behind bool
		if behind, err = f.follow(ctx); !behind {
			break
		}
		err = f.reload(replay.End())
	}
	if err == nil {
		err = ctx.Err() // nil behind the exit
	} else if f.removed() {
		err = f.wasRemoved() // whatever the reading stumbled over
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.err = true, err
	f.wakeLocked()
}

// start reads the end of the log. A session that has only begun may have none.
func (f *feed) start(ctx context.Context) error {
	for {
		err := f.reload(replay.End())
		if fault.KindOf(err) != fault.NotFound {
			return err
		}
		if m, ierr := f.dir.Inspect(); ierr != nil || !m.Status.Active() {
			return err
		}
		t := time.NewTimer(retryStart)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// reload replaces the terminal by the one at a point of the log.
func (f *feed) reload(p replay.Point) error {
	log, err := eventlog.Open(f.dir.Log())
	if err != nil {
		return err
	}
	r, err := replay.At(log, p)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != nil && r.Position.Seq < f.at.Seq {
		return nil // damage hides what is shown already
	}
	f.term, f.at, f.syncing = r.Terminal, r.Position, time.Time{}
	if r.Exit != nil {
		f.exit = r.Exit.Status
	}
	for _, err := range r.Missing {
		f.addMissingLocked(err)
	}
	f.noteLocked()
	return nil
}

// follow applies the events that come. It returns true when the log is so far
// ahead that its end should be loaded instead.
func (f *feed) follow(ctx context.Context) (behind bool, err error) {
	applied, stale := 0, false
	for ev, err := range eventlog.Follow(ctx, f.dir.Log(), f.at.Seq) {
		switch {
		case eventlog.Missing(err):
			// What comes next changes a terminal that nobody has seen.
			stale = true
			f.mu.Lock()
			f.addMissingLocked(err)
			f.mu.Unlock()
			continue
		case err != nil:
			return false, err
		case ev.Seq <= f.at.Seq: // f.at is changed by this goroutine only
			continue
		}
		if stale {
			stale = false
			if err := f.reload(replay.Seq(ev.Seq)); err != nil {
				return false, err
			}
			continue
		}
		f.apply(ev)
		if applied += len(ev.Data); applied >= checkBehind {
			applied = 0
			if f.isBehind() {
				return true, nil
			}
		}
	}
	return false, nil
}

func (f *feed) apply(ev eventlog.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.term.Generation()
	replay.Apply(f.term, ev)
	f.at = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
	if ev.Code == eventlog.Exit {
		f.exit = string(ev.Data)
	} else if f.term.Generation() == before {
		return
	}
	if !f.term.Modes().Sync {
		f.syncing = time.Time{}
	} else if f.syncing.IsZero() {
		f.syncing = time.Now()
	}
	f.noteLocked()
}

// isBehind reports whether a newer segment begins after what was applied: its
// repaint is a shorter way to the end.
func (f *feed) isBehind() bool {
	log, err := eventlog.Open(f.dir.Log())
	if err != nil {
		return false // the follower meets it too, and says so
	}
	segs, err := log.Segments()
	return err == nil && len(segs) > 0 && segs[len(segs)-1].Seq > f.at.Seq
}

// maxMissing bounds the words on what is missing.
const maxMissing = 8

func (f *feed) addMissingLocked(err error) {
	word := err.Error()
	for _, known := range f.missing {
		if known == word {
			return
		}
	}
	// A new slice: frames that were handed out share the old one.
	f.missing = append(f.missing[max(0, len(f.missing)-maxMissing+1):len(f.missing):len(f.missing)], word)
}

// noteLocked says that there is something new to see.
func (f *feed) noteLocked() {
	f.change++
	f.wakeLocked()
}

func (f *feed) wakeLocked() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next returns a frame newer than revision after; or a channel and a time, of
// which the first says when to ask again; or why there will be none.
func (f *feed) next(after uint64, now time.Time) (frame *Frame, changed <-chan struct{}, wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := f.term != nil && f.shows != f.change
	if fresh && !f.over {
		wait = f.captured.Add(f.interval).Sub(now)
		if !f.syncing.IsZero() {
			wait = max(wait, f.syncing.Add(syncPatience).Sub(now))
		}
	}
	if fresh && wait <= 0 {
		f.captureLocked(now)
		fresh = false
	}
	switch {
	case f.frame != nil && f.frame.Rev > after:
		return f.frame, nil, 0, nil
	case f.over && f.err != nil:
		return nil, nil, 0, f.err
	case f.over:
		return nil, nil, 0, io.EOF
	}
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	if !fresh {
		wait = 0
	}
	return nil, f.changed, wait, nil
}

func (f *feed) captureLocked(now time.Time) {
	rev := uint64(1)
	if f.frame != nil {
		rev = f.frame.Rev + 1
	}
	f.frame = newFrame(f.term, f.at)
	f.frame.Rev, f.frame.Exit, f.frame.Missing = rev, f.exit, f.missing
	f.shows, f.captured = f.change, now
}
