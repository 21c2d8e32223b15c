package wake

import (
	"strings"
	"time"

	"den/internal/base/fault"
)

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
