package cli

import (
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
)

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
