package harness

import (
	"testing"
	"time"

	"den/internal/testkit/need"
)

func TestQuietHours(t *testing.T) {
	const day = "2026-03-10 "
	for _, c := range []struct {
		quiet QuietHours
		now   string
		until string // "" for awake
	}{
		{QuietHours{}, day + "03:00", ""},
		{QuietHours{"23:00", "08:00"}, day + "22:59", ""},
		{QuietHours{"23:00", "08:00"}, day + "23:00", "2026-03-11 08:00"},
		{QuietHours{"23:00", "08:00"}, day + "00:00", day + "08:00"},
		{QuietHours{"23:00", "08:00"}, day + "07:59", day + "08:00"},
		{QuietHours{"23:00", "08:00"}, day + "08:00", ""},
		{QuietHours{"12:00", "13:30"}, day + "12:15", day + "13:30"},
		{QuietHours{"12:00", "13:30"}, day + "13:30", ""},
		{QuietHours{"23:00", "08:00"}, "2026-12-31 23:30", "2027-01-01 08:00"},
		{QuietHours{"25:00", "08:00"}, day + "07:00", ""},
	} {
		now, err := time.ParseInLocation("2006-01-02 15:04", c.now, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		end, quiet := c.quiet.until(now)
		if got := end.Format("2006-01-02 15:04"); quiet != (c.until != "") || quiet && got != c.until {
			t.Errorf("%v at %s: %v until %s, want %q", c.quiet, c.now, quiet, got, c.until)
		}
	}
}

// The hours are those of the clock on the wall, also when it is put forward.
func TestQuietHoursWhenTheClockChanges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		need.Feature(t, "this system has no time zones: %v", err)
	}
	night := time.Date(2026, 3, 28, 23, 30, 0, 0, berlin) // at 2:00 it becomes 3:00
	end, quiet := QuietHours{"23:00", "08:00"}.until(night)
	if !quiet || end.Sub(night) != 7*time.Hour+30*time.Minute {
		t.Errorf("%v, %v", end, quiet)
	}
}

func TestWakeUpIsKept(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	w, err := openWakeUp(dir)
	if err != nil || w.isSet(now) {
		t.Fatalf("%v, %v", w, err)
	}
	if err := w.set(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	again, err := openWakeUp(dir)
	if err != nil || !again.isSet(now) || again.isSet(now.Add(2*time.Hour)) {
		t.Errorf("%+v, %v", again, err)
	}
}
