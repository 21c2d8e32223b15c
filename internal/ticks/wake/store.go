package wake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"
)

// Files is the part of a data repository that the schedule needs.
type Files interface {
	Read(name string, limit int64) ([]byte, time.Time, error)
	Swap(name string, old, data []byte) error
	Edit(ctx context.Context, change func() error) error
}

// A Store is the schedule of one agent and its ledger.
type Store struct {
	files  Files
	ledger ledgerFile
	loc    *time.Location
}

// New returns the store of a data repository. ledger is the path of a file in a
// directory of the user's own, for one repository; loc is the zone of times
// that have none.
func New(files Files, ledger string, loc *time.Location) *Store {
	return &Store{files: files, ledger: ledgerFile{path: ledger, write: atomicfile.Write}, loc: loc}
}

// Spec is a wake as it is written: a time, or every so often from a time on, or
// by a cron expression.
type Spec struct {
	Time   string // such as 2026-02-01T09:30, and for Add 09:30; local where it has no zone
	Every  string // such as "6h"
	Cron   string // such as "0 9 * * 1-5"
	Zone   string // such as "Europe/Berlin", for Time and Cron; or ""
	Reason string
}

// A Wake is an entry of the schedule.
type Wake struct {
	Spec
	ID        string    // given by Add, or ""
	Next      time.Time // when it is due; zero if it is due now or never again
	Due       bool
	Fulfilled bool
}

// Look is what a schedule says at a time.
type Look struct {
	Due  []Due     // by time
	Next time.Time // when the next wake becomes due, zero if none does
	// Wakes are the entries that are understood, in their order.
	Wakes []Wake
	// Problems are entries that are not understood, which stay as they are, and
	// damage that was dealt with.
	Problems []error
}

// Look returns what is due. It changes nothing that the agent sees.
func (s *Store) Look(ctx context.Context, now time.Time) (Look, error) {
	sched, _, err := s.read()
	if err != nil || sched == nil {
		return Look{}, err
	}
	out := Look{Problems: sched.problems}
	var next map[string]time.Time
	told, err := s.ledger.edit(ctx, now, func(l *ledger) (changed bool, err error) {
		out.Due, next, changed = look(sched, l, now)
		return changed, nil
	})
	if told != nil {
		out.Problems = append(out.Problems, told)
	}
	if err != nil {
		return Look{Problems: out.Problems}, err
	}
	slices.SortStableFunc(out.Due, func(a, b Due) int { return a.At.Compare(b.At) })
	for _, at := range next {
		if out.Next.IsZero() || at.Before(out.Next) {
			out.Next = at
		}
	}
	for _, e := range sched.entries {
		if e.kind == "" {
			continue
		}
		w := Wake{Spec: e.written, ID: e.id, Fulfilled: e.fulfilled}
		if !e.fulfilled {
			w.Next = next[e.key]
			w.Due = slices.ContainsFunc(out.Due, func(d Due) bool { return strings.HasPrefix(d.ID, e.key+idMark) })
			w.Fulfilled = e.kind == once && !w.Due && w.Next.IsZero() // the mark was lost
		}
		out.Wakes = append(out.Wakes, w)
	}
	return out, nil
}

// read returns the schedule and its text, nil where there is none.
func (s *Store) read() (*schedule, []byte, error) {
	data, modified, err := s.files.Read(scheduleFile, maxSchedule)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	sched, err := parseSchedule(data, modified, s.loc)
	if err != nil {
		return nil, nil, fault.Hintf(fault.Errorf(fault.Usage, "read the schedule: %w", err), "correct the file: until then no wake of it comes")
	}
	return sched, data, nil
}

// Acknowledge notes that the agent was told of occurrences, which are never due
// again. It can be repeated. The ledger is on the disk before the marks in the
// schedule are set; if only these could not be, Tidy sets them.
func (s *Store) Acknowledge(ctx context.Context, now time.Time, ids ...string) error {
	sched, _, serr := s.read() // without it the ledger still knows what is over
	_, err := s.ledger.edit(ctx, now, func(l *ledger) (bool, error) {
		return true, acknowledge(l, sched, ids, now)
	})
	if err != nil {
		return err
	}
	if serr != nil {
		return serr
	}
	return s.Tidy(ctx, now)
}

// Tidy sets marks in the schedule that are missing, and removes wakes that were
// fulfilled a day ago.
func (s *Store) Tidy(ctx context.Context, now time.Time) error {
	var over ledger
	if _, err := s.ledger.edit(ctx, now, func(l *ledger) (bool, error) {
		before := len(l.Wakes)
		l.prune(now)
		over = *l
		return len(l.Wakes) != before, nil
	}); err != nil {
		return err
	}
	return s.rewrite(ctx, func(sched *schedule) (bool, error) { return sched.mark(&over, now, s.loc) })
}

// attempts bounds how often a schedule is read anew because a tool of the agent
// has written it meanwhile.
const attempts = 20

// rewrite changes the schedule; change reports whether it did.
func (s *Store) rewrite(ctx context.Context, change func(*schedule) (bool, error)) error {
	return s.files.Edit(ctx, func() error {
		for i := 1; ; i++ {
			sched, old, err := s.read()
			if err != nil {
				return err
			}
			if sched == nil {
				sched = &schedule{object: jsonobject.New()}
			}
			changed, err := change(sched)
			if err != nil || !changed {
				return err
			}
			data, err := sched.encode()
			if err != nil {
				return fmt.Errorf("write the schedule: %w", err)
			}
			if err = s.files.Swap(scheduleFile, old, data); !errors.Is(err, datarepo.ErrChanged) || i == attempts {
				return err
			}
		}
	})
}

// Add adds a wake and returns its ID. A time of day alone, such as 09:00, is
// the next one.
func (s *Store) Add(ctx context.Context, now time.Time, w Spec) (string, error) {
	w.Time = s.dated(w, now)
	id := ident.New(now)
	o := jsonobject.New()
	err := o.Set("id", id)
	for _, field := range []struct{ key, value string }{
		{"time", w.Time}, {"every", w.Every}, {"cron", w.Cron}, {"zone", w.Zone}, {"reason", w.Reason},
		{"created", isotime.Naive(now, s.loc)},
	} {
		if field.value != "" || field.key == "reason" {
			err = errors.Join(err, o.Set(field.key, field.value))
		}
	}
	if err != nil {
		return "", fmt.Errorf("add a wake: %w", err)
	}
	if err := s.check(o, now); err != nil {
		return "", err
	}
	return id, s.rewrite(ctx, func(sched *schedule) (bool, error) {
		sched.entries = append(sched.entries, entry{object: o})
		return true, nil
	})
}

// dated is the time of a wake with its date. In the schedule there is none
// without one: it would be another each time that it is read.
func (s *Store) dated(w Spec, now time.Time) string {
	loc := s.loc
	if zone, err := time.LoadLocation(w.Zone); w.Zone != "" && err == nil { // one that is wrong is told by check
		loc = zone
	}
	if text, ok := isotime.Next(w.Time, now, loc); ok {
		return text
	}
	return w.Time
}

// check parses a wake that is to be added.
func (s *Store) check(o *jsonobject.Object, now time.Time) error {
	list := jsonobject.New()
	if err := list.Set("wakes", []any{o.Raw()}); err != nil {
		return fmt.Errorf("add a wake: %w", err)
	}
	sched, err := parseSchedule(list.File(), now, s.loc)
	if err == nil && len(sched.problems) > 0 {
		err = sched.problems[0]
	}
	var located *jsonobject.Error
	if errors.As(err, &located) {
		err = located.Err // the place is in no file that anybody knows
	}
	if err != nil {
		return fault.Errorf(fault.Usage, "add a wake: %w", err)
	}
	return nil
}

// Cancel removes the wake with an ID that Add gave.
func (s *Store) Cancel(ctx context.Context, id string) error {
	return s.rewrite(ctx, func(sched *schedule) (bool, error) {
		left := slices.DeleteFunc(slices.Clone(sched.entries), func(e entry) bool { return id != "" && e.id == id })
		if len(left) == len(sched.entries) {
			return false, fault.Errorf(fault.NotFound, "no wake has the ID '%s'", id)
		}
		sched.entries = left
		return true, nil
	})
}
