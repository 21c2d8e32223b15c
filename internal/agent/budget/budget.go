package budget

import (
	"fmt"
	"strconv"
	"time"
)

// Usage is what was used.
type Usage struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	Turns   int64   `json:"turns,omitempty"`
}

func (u Usage) plus(v Usage) Usage {
	return Usage{Tokens: u.Tokens + v.Tokens, CostUSD: u.CostUSD + v.CostUSD, Turns: u.Turns + v.Turns}
}

// Limits are the most that may be used within an hour and within a day. A
// field that is 0 is no limit.
type Limits struct {
	Hour Usage `json:"hour,omitzero"`
	Day  Usage `json:"day,omitzero"`
}

// Which names a limit. The values are stored and sent: add, never rename.
type Which string

// The limits, the ones that are told first before the others.
const (
	TokensPerHour Which = "tokens_per_hour"
	CostPerHour   Which = "cost_per_hour"
	TurnsPerHour  Which = "turns_per_hour"
	TokensPerDay  Which = "tokens_per_day"
	CostPerDay    Which = "cost_per_day"
	TurnsPerDay   Which = "turns_per_day"
)

// measure is one limit, and how to read what it limits.
type measure struct {
	which  Which
	window time.Duration
	unit   string
	of     func(Usage) float64
	limits func(Limits) Usage
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

func tokens(u Usage) float64 { return float64(u.Tokens) }
func cost(u Usage) float64   { return u.CostUSD }
func turns(u Usage) float64  { return float64(u.Turns) }
func perHour(l Limits) Usage { return l.Hour }
func perDay(l Limits) Usage  { return l.Day }

var measures = []measure{
	{TokensPerHour, hour, "tokens", tokens, perHour},
	{CostPerHour, hour, "USD", cost, perHour},
	{TurnsPerHour, hour, "turns", turns, perHour},
	{TokensPerDay, day, "tokens", tokens, perDay},
	{CostPerDay, day, "USD", cost, perDay},
	{TurnsPerDay, day, "turns", turns, perDay},
}

// Level is how much of a limit is used. The values are stored and sent: add,
// never rename.
type Level string

// The levels.
const (
	OK       Level = "ok"
	Warned   Level = "warned"   // four fifths are used
	Exceeded Level = "exceeded" // no turn may begin
)

const warnAt = 0.8

// Line is the state of one limit.
type Line struct {
	Which Which   `json:"which"`
	Level Level   `json:"level"`
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
	// Until is when turns may begin again, of an exceeded limit.
	Until time.Time `json:"until,omitzero"`
}

// String is the line for people: "1.2M of 2M tokens in the last hour".
func (l Line) String() string {
	for _, m := range measures {
		if m.which == l.Which {
			window := "hour"
			if m.window == day {
				window = "day"
			}
			return fmt.Sprintf("%s of %s %s in the last %s", short(l.Used), short(l.Limit), m.unit, window)
		}
	}
	return string(l.Which)
}

// short writes a number with three digits or so.
func short(x float64) string {
	for _, s := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= s.of {
			return strconv.FormatFloat(x/s.of, 'g', 3, 64) + s.name
		}
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// Status is what a ledger says about all limits.
type Status struct {
	Level Level `json:"level"` // the worst of the lines
	// Which is the limit that decides, and Until when turns may begin again:
	// of the exceeded limits the one that holds longest.
	Which Which     `json:"which,omitempty"`
	Until time.Time `json:"until,omitzero"`
	Lines []Line    `json:"lines,omitempty"` // one for each limit that is set
}

// String is the status for people, "" where nothing is limited.
func (s Status) String() string {
	for _, l := range s.Lines {
		if l.Which != s.Which {
			continue
		}
		if s.Level == Exceeded {
			return fmt.Sprintf("%s: paused until %s", l, s.Until.Format(time.RFC3339))
		}
		return l.String()
	}
	return ""
}

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
		limit := m.of(m.limits(limits))
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
