package dashboard

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session/home"
)

const (
	// syncPatience bounds how long a synchronised update may hide an
	// unfinished screen.
	syncPatience = 200 * time.Millisecond
	// retryStart is the pause between two tries to open the log of a starting
	// session.
	retryStart = 50 * time.Millisecond
)

// feed follows one session: its goroutine applies the events, the views take
// the frames.
type feed struct {
	dir    home.Dir
	budget spender
	cancel context.CancelFunc
	begin  chan struct{}  // of the model: a token for each log whose end may be looked for
	views  map[*View]bool // guarded by Model.mu
	newest string         // the last file of the log that is known; belongs to run

	mu      sync.Mutex    // guards the fields below
	gap     time.Duration // between two frames, as the most eager view wants it
	term    *vt.Terminal  // or nil: nothing was read yet
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

// run follows the log until ctx is done, the session ends, or the log cannot
// be read.
func (f *feed) run(ctx context.Context) {
	err := f.start(ctx)
	for err == nil && ctx.Err() == nil {
		var behind bool
		if behind, err = f.follow(ctx); !behind {
			break
		}
		err = f.leap(ctx)
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

// start reads the end of the log. A session that is starting may have none
// yet.
func (f *feed) start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.begin:
		}
		err := f.reload(replay.End())
		f.begin <- struct{}{} // room: it was taken from there
		if fault.KindOf(err) != fault.NotFound {
			return err
		}
		if m, ierr := f.dir.Inspect(); ierr != nil || !m.Status.Active() {
			return err
		}
		if poll.Pause(ctx, retryStart) != nil {
			return ctx.Err()
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

// follow applies new events, at the rate that the budget allows. It returns
// true if a newer segment exists: its repaint is a shortcut.
func (f *feed) follow(ctx context.Context) (behind bool, err error) {
	p := pace{budget: f.budget, idle: time.Now()}
	var stale error // what is missing before the next event, or nil
	for ev, err := range eventlog.Follow(ctx, f.dir.Log(), f.at.Seq) {
		switch {
		case dropped(err) && f.canLeap():
			return true, nil // the log was quicker: that is no loss to those who look on
		case eventlog.Missing(err):
			stale = err // what comes next changes a terminal that nobody has seen
			continue
		case err != nil:
			return false, err
		case ev.Seq <= f.at.Seq: // f.at is changed by this goroutine only
			continue
		}
		p.begin(f.between(), time.Now())
		if stale == nil {
			f.apply(ev)
		} else if err := f.resume(ev.Seq, stale); fault.KindOf(err) == fault.NotFound {
			return true, nil // dropped by now
		} else if err != nil {
			return false, err
		}
		stale = nil
		pause, dear := p.end(len(ev.Data), f.between(), time.Now())
		if poll.Pause(ctx, pause) != nil {
			return false, nil
		}
		if dear && f.isBehind() {
			return true, nil
		}
		p.idle = time.Now()
	}
	return false, nil
}

// between is the time between two frames.
func (f *feed) between() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gap
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

// maxMissing bounds the messages about missing parts.
const maxMissing = 8

func (f *feed) addMissingLocked(err error) {
	word := err.Error()
	if slices.Contains(f.missing, word) {
		return
	}
	// A new slice: frames that were handed out share the old one.
	f.missing = append(f.missing[max(0, len(f.missing)-maxMissing+1):len(f.missing):len(f.missing)], word)
}

// noteLocked wakes the views: there is a new screen.
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

// next returns a frame newer than revision after. If there is none it returns
// a channel and a time, whichever comes first says when to ask again, or an
// error if there will be none.
func (f *feed) next(after uint64, now time.Time) (frame *Frame, changed <-chan struct{}, wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := f.term != nil && f.shows != f.change
	if fresh && !f.over {
		wait = f.captured.Add(f.gap).Sub(now)
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

// isBehind reports whether a newer segment begins after what was applied: its
// repaint is a shorter way to the end.
func (f *feed) isBehind() bool {
	names, err := os.ReadDir(f.dir.Log())
	if err != nil || len(names) == 0 || names[len(names)-1].Name() == f.newest {
		return false // the follower meets an error too, and says so
	}
	f.newest = names[len(names)-1].Name()
	return f.canLeap()
}

func (f *feed) canLeap() bool {
	seq, err := f.newestRepaint()
	return err == nil && seq > f.at.Seq
}

// newestRepaint returns the number of the last event before the newest
// segment.
func (f *feed) newestRepaint() (uint64, error) {
	log, err := eventlog.Open(f.dir.Log())
	if err != nil {
		return 0, err
	}
	segs, err := log.Segments()
	if err != nil {
		return 0, err
	}
	if len(segs) == 0 { // all were dropped while they were looked at
		return 0, fault.Errorf(fault.NotFound, "no part of the log stood still")
	}
	return segs[len(segs)-1].Seq, nil
}

// resume continues at an event after a missing part.
func (f *feed) resume(seq uint64, missing error) error {
	if err := f.reload(replay.Seq(seq)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addMissingLocked(missing)
	return nil
}

// dropped reports that segments were removed before they were read, or that
// some events were never recorded.
func dropped(err error) bool {
	var gap *eventlog.Gap
	return errors.As(err, &gap)
}

// leap skips to the repaint of the newest segment. That segment may have been
// dropped meanwhile; then there is a newer one.
func (f *feed) leap(ctx context.Context) error {
	for {
		seq, err := f.newestRepaint()
		if err == nil {
			err = f.reload(replay.Seq(seq))
		}
		if fault.KindOf(err) != fault.NotFound || f.removed() {
			return err
		}
		if poll.Pause(ctx, retryStart) != nil {
			return ctx.Err()
		}
	}
}

const (
	// budgetRate is how many bytes all feeds together read and emulate per
	// second: about a third of one processor. Faster output is skipped in
	// leaps, so that watching does not slow down the sessions.
	budgetRate = 24 << 20
	// budgetBurst is what may be read at once after a pause, so that the end
	// of a log is shown immediately.
	budgetBurst = 16 << 20
	// budgetStep is how much a feed reads before it is charged.
	budgetStep = 64 << 10
	// eventCost is the cost of an event in addition to its bytes.
	eventCost = 256
	// awaited is the delay from which an event counts as not having been in
	// the log already.
	awaited = 200 * time.Microsecond
)

// budget bounds the work of all feeds. A feed that exceeds it waits for its
// turn.
type budget struct {
	mu   sync.Mutex // guards the field below
	paid time.Time  // when all that was spent is paid off
}

// spend charges n bytes and returns how long to pause.
func (b *budget) spend(n int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	const burst = budgetBurst * time.Second / budgetRate
	if b.paid.Before(now.Add(-burst)) {
		b.paid = now.Add(-burst)
	}
	b.paid = b.paid.Add(time.Duration(n) * time.Second / budgetRate)
	return max(0, b.paid.Sub(now))
}

// A spender is charged for what a feed reads. It is the model's budget, except
// in tests.
type spender interface {
	spend(n int, now time.Time) (pause time.Duration)
}

// pace controls the rate of one feed, and how often it wakes. It belongs to
// the feed's goroutine.
type pace struct {
	budget  spender
	owed    int
	idle    time.Time // since when the feed waits for an event
	woken   time.Time // when it last had to wait for one
	tooSoon bool      // the event that came was waited for, and the one before just now
}

// begin is called when an event has arrived.
func (p *pace) begin(gap time.Duration, now time.Time) {
	p.tooSoon = false
	if now.Sub(p.idle) < awaited {
		return // it was there already
	}
	p.tooSoon = now.Sub(p.woken) < gap
	if !p.tooSoon {
		p.woken = now
	}
}

// end is called when an event of n bytes was processed. It returns how long to
// pause: so that events are batched if they arrive faster than screens are
// shown, and to stay within the budget; dear is set for the latter.
func (p *pace) end(n int, gap time.Duration, now time.Time) (rest time.Duration, dear bool) {
	p.owed += n + eventCost
	if p.tooSoon {
		rest = max(0, gap-now.Sub(p.woken))
		p.woken = now.Add(rest)
	}
	if p.owed >= budgetStep {
		debt := p.budget.spend(p.owed, now)
		p.owed = 0
		dear = debt > 0
		rest = max(rest, debt)
	}
	return rest, dear
}
