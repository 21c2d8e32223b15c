// Package isotime reads and writes times as Python's isoformat does: agents'
// tools are often written in it.
package isotime

import (
	"fmt"
	"strings"
	"time"
)

// The forms of a time, without its zone. Seconds may have a fraction.
var clocks = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15", "20060102T150405", "20060102T1504"}

// The forms of a zone. "" is a time without one.
var zones = []string{"", "Z07:00", "Z0700", "Z07", "Z07:00:00"}

// Parse reads a date and a time. One without a zone is local to loc; a date
// alone is its midnight.
func Parse(s string, loc *time.Location) (time.Time, error) {
	text := strings.TrimSpace(s)
	if len(text) > 10 && (text[10] == ' ' || text[10] == 't') {
		text = text[:10] + "T" + text[11:]
	}
	if before, ok := strings.CutSuffix(text, "z"); ok {
		text = before + "Z"
	}
	for _, clock := range clocks {
		for _, zone := range zones {
			if t, err := time.ParseInLocation(clock+zone, text, loc); err == nil {
				return t, nil
			}
		}
	}
	if t, err := time.ParseInLocation("2006-01-02", text, loc); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%.80q is no time such as 2026-02-01T09:30 or 2026-02-01T09:30:00+01:00", s)
}

// Next returns when a clock of loc shows a time of day such as 09:30 next after
// now, as Naive writes it; ok is false if s is no such time.
func Next(s string, now time.Time, loc *time.Location) (text string, ok bool) {
	clock, err := time.Parse("15:04", strings.TrimSpace(s))
	if err != nil {
		return "", false
	}
	today := now.In(loc)
	day := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC) // where every day has every hour
	for range 2 {
		text = day.Format("2006-01-02") + clock.Format("T15:04:05")
		if at, err := Parse(text, loc); err == nil && at.After(now) {
			break
		}
		day = day.AddDate(0, 0, 1)
	}
	return text, true
}

// Naive writes t as a local time of loc without its zone, to the microsecond.
func Naive(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	if t.Nanosecond()/1000 == 0 {
		return t.Format("2006-01-02T15:04:05")
	}
	return t.Format("2006-01-02T15:04:05.000000")
}
