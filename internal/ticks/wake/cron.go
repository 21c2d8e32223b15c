package wake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	gocron "github.com/netresearch/go-cron"
)

var parser = gocron.MustNewParser(gocron.Minute | gocron.Hour | gocron.Dom | gocron.Month | gocron.Dow | gocron.Descriptor)

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
	schedule, err := parser.Parse(text)
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
