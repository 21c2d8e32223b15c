package budget

import "time"

const bucketSize = 5 * time.Minute

// bucket is what was used within five minutes.
type bucket struct {
	Start time.Time `json:"start"`
	Usage
}

// leaves is when a bucket no longer counts for a window.
func (b bucket) leaves(window time.Duration) time.Time { return b.Start.Add(bucketSize + window) }

// record adds use to the buckets, which are in the order of time, and drops
// those that no window needs. A bucket that lies in the future, because the
// clock was set back, is moved to now: its use is kept, and is not kept for
// longer than a day.
func record(buckets []bucket, now time.Time, u Usage) []bucket {
	start := now.Truncate(bucketSize)
	var kept []bucket
	for _, b := range buckets {
		switch {
		case !b.Start.Before(start):
			u = u.plus(b.Usage)
		case b.leaves(day).After(now):
			kept = append(kept, b)
		}
	}
	if u == (Usage{}) {
		return kept
	}
	return append(kept, bucket{Start: start, Usage: u})
}

// used sums what counts for a window.
func used(buckets []bucket, now time.Time, window time.Duration) Usage {
	var sum Usage
	for _, b := range buckets {
		if b.leaves(window).After(now) {
			sum = sum.plus(b.Usage)
		}
	}
	return sum
}

// check compares use with limits. It is the rule of this package.
func check(buckets []bucket, limits Limits, now time.Time) Status {
	buckets = record(buckets, now, Usage{})
	s := Status{Level: OK}
	for _, m := range measures {
		limit := m.limit(limits)
		if limit <= 0 {
			continue
		}
		l := Line{Which: m.which, Level: OK, Used: m.of(used(buckets, now, m.window)), Limit: limit}
		switch {
		case l.Used >= limit:
			l.Level, l.Until = Exceeded, freeAt(buckets, m, limit, now)
		case l.Used >= warnAt*limit:
			l.Level = Warned
		}
		s.Lines = append(s.Lines, l)
		if worse(l, s) {
			s.Level, s.Which, s.Until = l.Level, l.Which, l.Until
		}
	}
	return s
}

func worse(l Line, s Status) bool {
	order := map[Level]int{OK: 0, Warned: 1, Exceeded: 2}
	return order[l.Level] > order[s.Level] || l.Level == Exceeded && l.Until.After(s.Until) || s.Which == ""
}

// freeAt is when enough buckets will have left the window.
func freeAt(buckets []bucket, m measure, limit float64, now time.Time) time.Time {
	for _, b := range buckets {
		at := b.leaves(m.window)
		if at.After(now) && m.of(used(buckets, at, m.window)) < limit {
			return at
		}
	}
	return now // no bucket is left: nothing is used
}
