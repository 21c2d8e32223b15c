package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
)

// duration is a flag in Go's form ("500ms") or in bare seconds ("30", "0.5").
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		secs, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || !(secs <= 1e9) {
			return fmt.Errorf("'%s' is not a duration such as 500ms, 30s or 30", s)
		}
		v = time.Duration(secs * float64(time.Second))
	}
	if v < 0 {
		return fmt.Errorf("'%s' is negative", s)
	}
	*d = duration(v)
	return nil
}

// days is a duration that may also be in days: "30d".
type days duration

func (d *days) String() string { return (*duration)(d).String() }
func (d *days) Type() string   { return "duration" }

func (d *days) Set(s string) error {
	var err error
	if number, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(number, 64); err == nil && n >= 0 && n <= 36500 {
			*d = days(n * 24 * float64(time.Hour))
			return nil
		}
	} else if err = (*duration)(d).Set(s); err == nil {
		return nil
	}
	return fmt.Errorf("'%s' is not a number of days, hours, minutes or seconds such as 30d, 12h, 90m or 45s", s)
}

var byteUnits = []struct {
	suffix string
	size   int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1},
}

// parseBytes reads sizes such as 256MiB, 1.5GB or 4096.
func parseBytes(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range byteUnits {
		if rest, ok := cutSuffixFold(s, u.suffix); ok {
			number, unit = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || v*float64(unit) > 1<<60 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not a size such as 256MiB", s)
	}
	return int64(v * float64(unit)), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// formatBytes is for people.
func formatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// formatAge formats a duration for people, in its largest unit.
func formatAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// parseMoment reads --at and --seq.
func parseMoment(o snapshotOptions, m *home.Manifest, now time.Time, bySeq bool) (session.Moment, error) {
	if bySeq {
		if o.seq == 0 {
			return session.Moment{}, fault.Errorf(fault.Usage, "--seq: events are numbered from 1")
		}
		return session.AtSeq(o.seq), nil
	}
	if o.at == "" {
		return session.Now(), nil
	}
	since, err := parseAt(o.at, m.Created, now)
	if err != nil {
		return session.Moment{}, err
	}
	if since < 0 {
		return session.Moment{}, fault.Errorf(fault.Usage, "--at %s is before the session's start at %s", o.at, m.Created.Local().Format(time.DateTime))
	}
	return session.At(since), nil
}

// parseAt returns the time since the session's start.
func parseAt(at string, created, now time.Time) (time.Duration, error) {
	if ago, ok := strings.CutPrefix(at, "-"); ok {
		var d duration
		if err := d.Set(ago); err != nil {
			return 0, fault.Errorf(fault.Usage, "--at: %w", err)
		}
		return now.Add(-time.Duration(d)).Sub(created), nil
	}
	var d duration
	if d.Set(at) == nil {
		return time.Duration(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.TimeOnly, "15:04"} {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day: the last such moment
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
		}
		return t.Sub(created), nil
	}
	return 0, fault.Errorf(fault.Usage, "--at: '%s' is not a time such as 14:03:22, 2026-01-31T14:03:22Z, 90s or -10s", at)
}
