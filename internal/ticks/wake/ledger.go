package wake

import (
	"context"
	"encoding/json"
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
	"den/internal/base/statefile"
)

const (
	ledgerVersion = 1
	maxLedger     = 16 << 20
	// forgotten is when a wake that is no longer in the schedule is: somebody
	// may restore an old schedule.
	forgotten = 30 * 24 * time.Hour
	// maxSpans bounds how many gaps between occurrences are remembered.
	maxSpans = 64
)

// ledger is what is known of wakes, by key.
type ledger struct {
	V     int             `json:"v"`
	Wakes map[string]*row `json:"wakes"`

	lost bool // an earlier one was damaged: what was acknowledged is not known
}

// row is what is known of one wake.
type row struct {
	Kind kind      `json:"kind"`
	Seen time.Time `json:"seen"` // when it was last in the schedule, to the day

	Fired time.Time `json:"fired,omitzero"` // once: when it was acknowledged

	Next    time.Time     `json:"next,omitzero"` // every: the next occurrence
	Step    time.Duration `json:"step_ns,omitempty"`
	Started bool          `json:"started,omitempty"` // one was acknowledged

	After time.Time `json:"after,omitzero"` // cron: no occurrence up to this one is due
	// Spans are the occurrences that were acknowledged each by itself, and not
	// as the last of several. They do not become due again, whatever the clock
	// shows. They are sorted, and do not overlap.
	Spans []span `json:"spans,omitempty"`
}

// span is from one occurrence to another with all in between.
type span struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

func (s span) has(t time.Time) bool { return !t.Before(s.First) && !t.After(s.Last) }

// spanOf returns the span that has an occurrence, nil if none has.
func (r *row) spanOf(t time.Time) *span {
	if i := slices.IndexFunc(r.Spans, func(s span) bool { return s.has(t) }); i >= 0 {
		return &r.Spans[i]
	}
	return nil
}

// add adds an occurrence to the spans. rule may be nil, where the schedule no
// longer has it.
func (r *row) add(t time.Time, rule *cronRule) {
	if r.spanOf(t) != nil {
		return
	}
	i := slices.IndexFunc(r.Spans, func(s span) bool { return s.First.After(t) })
	if i < 0 {
		i = len(r.Spans)
	}
	if i > 0 && rule != nil && rule.next(r.Spans[i-1].Last).Equal(t) {
		r.Spans[i-1].Last = t
		return
	}
	r.Spans = slices.Insert(r.Spans, i, span{t, t})
	r.Spans = r.Spans[max(0, len(r.Spans)-maxSpans):]
}

// acknowledge notes that an occurrence was told.
func (r *row) acknowledge(occurrence, now time.Time, rule *cronRule) {
	switch r.Kind {
	case once:
		if r.Fired.IsZero() {
			r.Fired = now
		}
	case every:
		r.Started = true
		if next := occurrence.Add(r.Step); next.After(r.Next) {
			r.Next = next
		}
	case cron:
		r.add(occurrence, rule)
		if occurrence.After(r.After) {
			r.After = occurrence
		}
	}
}

// prune forgets wakes that the schedule has not had for long.
func (l *ledger) prune(now time.Time) {
	for key, r := range l.Wakes {
		if now.Sub(r.Seen) > forgotten {
			delete(l.Wakes, key)
		}
	}
}

// seen notes that the schedule has a wake, once a day. It reports whether it
// did.
func (r *row) seen(now time.Time) bool {
	if age := now.Sub(r.Seen); age >= 0 && age < 24*time.Hour {
		return false
	}
	r.Seen = now
	return true
}

func parseLedger(data []byte) (*ledger, error) {
	l, err := statefile.Decode[ledger]("the ledger of wakes", data, ledgerVersion)
	if err != nil {
		return nil, err
	}
	if l.V < 1 || l.Wakes == nil {
		return nil, errors.New("it is no ledger of wakes")
	}
	for key, r := range l.Wakes {
		if r == nil || !slices.Contains([]kind{once, every, cron}, r.Kind) || r.Step < 0 {
			return nil, fmt.Errorf("wake %.40q makes no sense", key)
		}
	}
	return &l, nil
}

// ledgerFile is where the ledger is kept.
type ledgerFile struct {
	path  string
	write func(path string, data []byte) error // atomicfile.Write, but in tests
}

// edit changes the ledger while nobody else does; change reports whether it
// did. A ledger that was damaged is kept aside, and told says so.
func (f ledgerFile) edit(ctx context.Context, now time.Time, change func(*ledger) (bool, error)) (told, err error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, fmt.Errorf("write the ledger of wakes: %w", err)
	}
	lock, err := filelock.Wait(ctx, f.path+".lock")
	if err != nil {
		return nil, fmt.Errorf("write the ledger of wakes: %w", err)
	}
	defer lock.Close() // Best effort: nothing was written to it.
	l, told, err := f.load(now)
	if err != nil {
		return nil, err
	}
	changed, err := change(l)
	if err != nil || !changed && told == nil {
		return told, err
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = f.write(f.path, append(data, '\n'))
	}
	if err != nil {
		return told, fmt.Errorf("write the ledger of wakes: %w", err)
	}
	return told, nil
}

func (f ledgerFile) load(now time.Time) (l *ledger, told, err error) {
	l = &ledger{V: ledgerVersion, Wakes: map[string]*row{}}
	data, err := atomicfile.Read(f.path, maxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the ledger of wakes: %w", err)
	}
	read, err := parseLedger(data)
	if err == nil {
		return read, nil, nil
	}
	if fault.KindOf(err) == fault.Protocol {
		return nil, nil, err
	}
	aside := f.path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z")
	if rerr := os.Rename(f.path, aside); rerr != nil {
		return nil, nil, fmt.Errorf("keep the damaged ledger of wakes aside: %w", rerr)
	}
	l.lost = true
	return l, fault.Errorf(fault.Storage, "the ledger of wakes was damaged (%w) and is kept as %s: wakes that come again are counted from now, and a wake whose mark is missing in the schedule may come again", err, aside), nil
}

// A Due is an occurrence of a wake that has come.
type Due struct {
	ID     string // for acknowledging it
	Reason string
	At     time.Time // when it became due
}

// look finds what is due. It may change the ledger, and reports whether it did:
// recurring wakes are entered when they are first seen, and a clock that was
// set back is noted.
func look(s *schedule, l *ledger, now time.Time) (due []Due, next map[string]time.Time, changed bool) {
	next = map[string]time.Time{}
	for _, e := range s.unique() {
		if e.fulfilled {
			continue
		}
		r := l.Wakes[e.key]
		if r == nil && e.kind != once {
			r = e.enter(s, l, now)
			l.Wakes[e.key], changed = r, true
		}
		if r != nil {
			changed = r.seen(now) || changed
		}
		var at, later time.Time
		var noted bool
		switch e.kind {
		case once:
			at, later = e.lookOnce(r, now)
		case every:
			at, later, noted = e.lookEvery(r, now)
		case cron:
			at, later, noted = e.lookCron(r, now)
		}
		changed = changed || noted
		if !at.IsZero() {
			due = append(due, Due{ID: idOf(e.key, at), Reason: e.reason, At: at})
		}
		if !later.IsZero() {
			next[e.key] = later
		}
	}
	return due, next, changed
}

// enter makes the row of a wake that is seen for the first time. Occurrences
// since the schedule was written count, unless they may have been told before.
func (e *entry) enter(s *schedule, l *ledger, now time.Time) *row {
	since := s.modified
	if since.After(now) || l.lost {
		since = now
	}
	r := &row{Kind: e.kind, Seen: now, Step: e.every}
	switch {
	case e.kind == every && !e.at.IsZero() && !(l.lost && e.at.Before(now)):
		r.Next = e.at
	case e.kind == every:
		r.Next = since.Add(e.every)
		r.Started = l.lost // it has a past
	case !e.at.IsZero() && !(l.lost && e.at.Before(now)):
		r.After = e.at.Add(-1)
	default:
		r.After = since
	}
	return r
}

// lookOnce returns when a wake became due, or will.
func (e *entry) lookOnce(r *row, now time.Time) (due, later time.Time) {
	switch {
	case r != nil && !r.Fired.IsZero():
		return time.Time{}, time.Time{}
	case e.at.After(now):
		return time.Time{}, e.at
	}
	return e.at, time.Time{}
}

// lookEvery goes by the time that passes. If the next occurrence is further
// away than it can be, the clock was set back.
func (e *entry) lookEvery(r *row, now time.Time) (due, later time.Time, changed bool) {
	counting := r.Started || e.at.IsZero()
	if counting && now.Before(r.Next.Add(-e.every)) {
		r.Next, changed = now.Add(e.every), true
	}
	if r.Next.After(now) {
		return time.Time{}, r.Next, changed
	}
	passed := now.Sub(r.Next) / e.every
	due = r.Next.Add(passed * e.every)
	return due, due.Add(e.every), changed
}

// lookCron goes by the clock. If the last occurrence that is not due any more
// is in the future, the clock was set back: what is between becomes due again,
// except for what was acknowledged.
func (e *entry) lookCron(r *row, now time.Time) (due, later time.Time, changed bool) {
	back := now
	if start := e.at.Add(-1); !e.at.IsZero() && start.After(back) {
		back = start // it has not begun
	}
	if back.Before(r.After) {
		r.After, changed = back, true
	}
	until := now
	for due = e.cron.last(r.After, until); !due.IsZero(); due = e.cron.last(r.After, until) {
		done := r.spanOf(due)
		if done == nil {
			break
		}
		until = done.First.Add(-1)
	}
	later = now
	if r.After.After(later) {
		later = r.After
	}
	for later = e.cron.next(later); !later.IsZero(); later = e.cron.next(later) {
		done := r.spanOf(later)
		if done == nil {
			break
		}
		later = done.Last
	}
	return due, later, changed
}

// idMark is between the wake and the occurrence in an ID.
const idMark = "@"

func idOf(key string, at time.Time) string {
	return key + idMark + at.UTC().Format(time.RFC3339Nano)
}

func parseID(id string) (key string, at time.Time, err error) {
	key, text, ok := strings.Cut(id, idMark)
	if ok {
		at, err = time.Parse(time.RFC3339Nano, text)
	}
	if !ok || err != nil || key == "" {
		return "", time.Time{}, fault.Errorf(fault.Usage, "acknowledge a wake: %.100q is no ID of one", id)
	}
	return key, at, nil
}

// acknowledge notes that occurrences were told. s may be nil, where the
// schedule cannot be read.
func acknowledge(l *ledger, s *schedule, ids []string, now time.Time) error {
	entries := map[string]*entry{}
	if s != nil {
		for _, e := range s.unique() {
			entries[e.key] = e
		}
	}
	for _, id := range ids {
		key, at, err := parseID(id)
		if err != nil {
			return err
		}
		e, r := entries[key], l.Wakes[key]
		if r == nil {
			r = &row{Kind: once, Seen: now}
			if e != nil && e.kind != once {
				r = e.enter(s, l, now)
			}
			l.Wakes[key] = r
		}
		var rule *cronRule
		if e != nil {
			rule = e.cron
		}
		r.acknowledge(at, now, rule)
	}
	return nil
}
