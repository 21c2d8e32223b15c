package wake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/lazy"
	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"

	gocron "github.com/netresearch/go-cron"
)

const (
	scheduleFile = "system/schedule.json"
	maxSchedule  = 4 << 20
	// minEvery is the shortest time between two occurrences: a tick is not
	// cheap.
	minEvery = time.Minute
	maxEvery = 10 * 366 * 24 * time.Hour
	// The years of a wake. A clock that is wrong shows others.
	firstYear, lastYear = 1970, 2999
	// remembered is how long a wake that was fulfilled stays in the schedule.
	remembered = 24 * time.Hour
)

// schedule is a parsed schedule.json.
type schedule struct {
	object   *jsonobject.Object
	entries  []entry
	modified time.Time // when the file was last written
	problems []error
}

// entry is one wake. One that is not understood has no kind, and stays as it
// is.
type entry struct {
	value  jsonobject.Value
	object *jsonobject.Object

	kind        kind
	key         string // of the ledger
	id          string // given by den, or ""
	reason      string
	at          time.Time // when it is due, of the kind once; else its first occurrence, or zero
	every       time.Duration
	cron        *cronRule
	fulfilled   bool
	fulfilledAt time.Time // zero if it is not known
	written     Spec      // as it is in the file
}

// kind says how often a wake comes. The values are stored: add, never rename.
type kind string

const (
	once  kind = "once"
	every kind = "every"
	cron  kind = "cron"
)

// parseSchedule reads a schedule. Times without a zone are local to loc. Only
// what is no schedule at all is an error.
func parseSchedule(data []byte, modified time.Time, loc *time.Location) (*schedule, error) {
	object, err := jsonobject.Parse(scheduleFile, data)
	if err != nil {
		return nil, err
	}
	s := &schedule{object: object, modified: modified}
	list, ok := object.Get("wakes")
	if !ok {
		return s, nil
	}
	values, err := list.List()
	if err != nil {
		return nil, jsonobject.Key("wakes", err)
	}
	for _, v := range values {
		e, err := parseEntry(v, modified, loc)
		if err != nil {
			e.kind = ""
			s.problems = append(s.problems, err)
		}
		s.entries = append(s.entries, e)
	}
	return s, nil
}

func parseEntry(v jsonobject.Value, modified time.Time, loc *time.Location) (entry, error) {
	e := entry{value: v}
	var err error
	if e.object, err = v.Object(); err != nil {
		return e, err
	}
	w, err := texts(e.object)
	if err != nil {
		return e, err
	}
	e.written, e.id, e.reason = w.Spec, w.id, w.Reason
	if err := jsonobject.Field(e.object, "fulfilled", jsonobject.Value.Bool, &e.fulfilled); err != nil {
		return e, err
	}
	if w.fulfilledAt != "" {
		e.fulfilledAt, _ = isotime.Parse(w.fulfilledAt, loc) // Best effort: only cleaning needs it.
	}
	if err := e.when(w, modified, loc); err != nil {
		return e, err
	}
	e.key = keyOf(w)
	return e, nil
}

// text is what an entry says, unparsed.
type text struct {
	Spec
	id          string
	fulfilledAt string
}

func texts(o *jsonobject.Object) (text, error) {
	var w text
	for _, field := range []struct {
		key string
		to  *string
	}{
		{"time", &w.Time}, {"every", &w.Every}, {"cron", &w.Cron}, {"zone", &w.Zone}, {"reason", &w.Reason},
		{"id", &w.id}, {"fulfilled_at", &w.fulfilledAt},
	} {
		if err := jsonobject.Field(o, field.key, jsonobject.Value.Text, field.to); err != nil {
			return w, err
		}
	}
	return w, nil
}

// when finds out when the entry is due.
func (e *entry) when(w text, modified time.Time, loc *time.Location) error {
	located := func(key string, err error) error {
		v, _ := e.object.Get(key)
		return jsonobject.Key(key, v.Errorf("%w", err))
	}
	if w.Zone != "" {
		zone, err := time.LoadLocation(w.Zone)
		if err != nil {
			return located("zone", err)
		}
		loc = zone
	}
	if w.Time != "" {
		at, err := isotime.Parse(w.Time, loc)
		if err == nil && (at.Year() < firstYear || at.Year() > lastYear) {
			err = fmt.Errorf("the year is not between %d and %d", firstYear, lastYear)
		}
		if err != nil {
			return located("time", err)
		}
		e.at = at
	}
	switch {
	case w.Every != "" && w.Cron != "":
		return e.value.Errorf(`it has both "every" and "cron"`)
	case w.Every != "":
		d, err := parseEvery(w.Every)
		if err != nil {
			return located("every", err)
		}
		e.kind, e.every = every, d
	case w.Cron != "":
		rule, err := parseCron(w.Cron, loc, modified)
		if err != nil {
			return located("cron", err)
		}
		e.kind, e.cron = cron, rule
	case w.Time != "":
		e.kind = once
	default:
		return e.value.Errorf(`it has neither "time" nor "every" nor "cron"`)
	}
	return nil
}

func parseEvery(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return 0, errors.New(`it is no time such as "90m" or "24h"`)
	}
	if d < minEvery || d > maxEvery {
		return 0, errors.New("it is shorter than a minute or longer than ten years")
	}
	return d, nil
}

// keyOf names an entry in the ledger. Two entries that say the same are one;
// one that is changed is another.
func keyOf(w text) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{w.id, w.Time, w.Every, w.Cron, w.Zone, w.Reason}, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// unique returns the entries that are understood, of those that say the same
// the first that is not fulfilled.
func (s *schedule) unique() []*entry {
	index := map[string]int{}
	var all []*entry
	for i := range s.entries {
		e := &s.entries[i]
		if e.kind == "" {
			continue
		}
		if at, ok := index[e.key]; !ok {
			index[e.key] = len(all)
			all = append(all, e)
		} else if all[at].fulfilled {
			all[at] = e
		}
	}
	return all
}

// mark sets the marks of wakes that the ledger knows to be over, and removes
// those that were fulfilled long ago. It reports whether anything changed.
func (s *schedule) mark(l *ledger, now time.Time, loc *time.Location) (bool, error) {
	changed := false
	for i := range s.entries {
		e := &s.entries[i]
		row := l.Wakes[e.key]
		if e.kind != once || e.fulfilled || row == nil || row.Fired.IsZero() {
			continue
		}
		if err := errors.Join(e.object.Set("fulfilled", true), e.object.Set("fulfilled_at", isotime.Naive(row.Fired, loc))); err != nil {
			return false, err
		}
		e.fulfilled, e.fulfilledAt, changed = true, row.Fired, true
	}
	left := slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return e.old(now) })
	changed = changed || len(left) < len(s.entries)
	s.entries = left
	return changed, nil
}

// old reports whether an entry was fulfilled long ago.
func (e *entry) old(now time.Time) bool {
	since := e.fulfilledAt
	if since.IsZero() {
		since = e.at
	}
	return e.kind == once && e.fulfilled && now.Sub(since) > remembered
}

// encode is the schedule as a file.
func (s *schedule) encode() ([]byte, error) {
	list := []json.RawMessage{}
	for _, e := range s.entries {
		if e.object != nil {
			list = append(list, e.object.Raw())
		} else {
			list = append(list, e.value.Raw)
		}
	}
	if err := s.object.Set("wakes", list); err != nil {
		return nil, err
	}
	return s.object.File(), nil
}

var parser = lazy.Value[gocron.Parser]{Make: func() gocron.Parser {
	return gocron.MustNewParser(gocron.Minute | gocron.Hour | gocron.Dom | gocron.Month | gocron.Dow | gocron.Descriptor)
}}

// cronRule is a cron expression in a zone: sets of numbers, as bits.
//
// Only the parser is another's. Its search loses days on which midnight does
// not exist, and others where summer time is half an hour.
type cronRule struct {
	minute, hour, dom, month, dow uint64

	// anyDay says that the day of the month or of the week is not restricted.
	// If both are, either is enough, as in every crontab.
	anyDay bool
	// anyHour says that the hour is not restricted. Such a rule goes by the
	// time that passes. Others go by the clock: what the clock leaves out comes
	// when it goes on, and what it shows twice comes once.
	anyHour bool
	zone    *time.Location
}

// parseCron reads five fields, or a descriptor such as @daily. A rule that has
// no occurrence after since is an error.
func parseCron(text string, zone *time.Location, since time.Time) (*cronRule, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, errors.New(`the zone is a key of its own, "zone"`)
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New(`use the key "every"`)
	}
	schedule, err := parser.Get().Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w; five fields are expected: minute, hour, day of the month, month, day of the week", err)
	}
	spec, ok := schedule.(*gocron.SpecSchedule)
	if !ok {
		return nil, errors.New("it never occurs")
	}
	r := &cronRule{minute: spec.Minute, hour: spec.Hour, dom: spec.Dom, month: spec.Month, dow: spec.Dow, zone: zone}
	fields := strings.Fields(text)
	open := func(i int, bits uint64, first, last int) bool {
		return full(bits, first, last) || len(fields) == 5 && strings.HasPrefix(fields[i], "*")
	}
	r.anyHour = open(1, r.hour, 0, 23)
	r.anyDay = open(2, r.dom, 1, 31) || open(4, r.dow, 0, 6)
	if r.next(since).IsZero() {
		return nil, errors.New("it never occurs")
	}
	return r, nil
}

func has(bits uint64, n int) bool { return bits&(1<<n) != 0 }

// full reports whether a set has all numbers from first to last.
func full(bits uint64, first, last int) bool {
	for n := first; n <= last; n++ {
		if !has(bits, n) {
			return false
		}
	}
	return true
}

// horizon is how far occurrences are looked for, in years: from one leap day to
// the next there may be eight.
const horizon = 9

// reading returns the first reading of a clock after another at which the rule
// occurs, zero if there is none for years. Readings are written as times in
// UTC, in which every minute of every day exists once.
func (r *cronRule) reading(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	for end := t.AddDate(horizon, 0, 0); t.Before(end); {
		y, m, d := t.Date()
		switch {
		case !has(r.month, int(m)):
			t = time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
		case !r.onDay(t):
			t = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
		case !has(r.hour, t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !has(r.minute, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

func (r *cronRule) onDay(t time.Time) bool {
	dom, dow := has(r.dom, t.Day()), has(r.dow, int(t.Weekday()))
	if r.anyDay {
		return dom && dow
	}
	return dom || dow
}

// clockAt is what a clock reads at t that is offset seconds ahead of UTC.
func clockAt(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// next returns the first occurrence after t, zero if there is none for years.
// It goes from one change of the clock to the next.
func (r *cronRule) next(t time.Time) time.Time {
	at, after := t.In(r.zone), t
	for limit := at.AddDate(horizon, 0, 0); at.Before(limit); {
		begin, end := at.ZoneBounds()
		_, offset := at.Zone()
		reading := r.reading(r.from(after, begin, offset))
		if reading.IsZero() {
			break
		}
		found := reading.Add(-time.Duration(offset) * time.Second).In(r.zone)
		if end.IsZero() || found.Before(end) {
			return found
		}
		if _, then := end.Zone(); !r.anyHour && reading.Before(clockAt(end, then)) {
			return end // the clock leaves the reading out
		}
		at, after = end, end.Add(-1)
	}
	return time.Time{}
}

// from is the reading after which occurrences are looked for, of a clock that
// was last changed at begin.
func (r *cronRule) from(after, begin time.Time, offset int) time.Time {
	from := clockAt(after, offset)
	if begin.IsZero() || r.anyHour {
		return from
	}
	// What the clock has shown before it was set back has occurred.
	_, before := begin.Add(-1).Zone()
	if shown := clockAt(begin, before).Add(-1); shown.After(from) {
		return shown
	}
	return from
}

// The windows in which the last occurrence is looked for, the small ones first:
// a rule may have an occurrence every minute, or one in years.
var windows = []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour}

// last returns the last occurrence after one time and not after another, zero
// if there is none.
func (r *cronRule) last(after, until time.Time) time.Time {
	for i := 0; ; i++ {
		start := after
		if i < len(windows) && until.Add(-windows[i]).After(after) {
			start = until.Add(-windows[i])
		}
		var found time.Time
		for t := r.next(start); !t.IsZero() && !t.After(until); t = r.next(t) {
			found = t
		}
		if !found.IsZero() || start.Equal(after) {
			return found
		}
	}
}
