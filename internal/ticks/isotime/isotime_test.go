package isotime_test

import (
	"testing"
	"time"

	"den/internal/ticks/isotime"
)

func berlin(t testing.TB) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParse(t *testing.T) {
	loc := berlin(t)
	for text, want := range map[string]time.Time{
		"2026-02-01":                       time.Date(2026, 2, 1, 0, 0, 0, 0, loc),
		"2026-02-01T09":                    time.Date(2026, 2, 1, 9, 0, 0, 0, loc),
		"2026-02-01T09:30":                 time.Date(2026, 2, 1, 9, 30, 0, 0, loc),
		"2026-02-01 09:30:15":              time.Date(2026, 2, 1, 9, 30, 15, 0, loc),
		"2026-02-01t09:30:15.25":           time.Date(2026, 2, 1, 9, 30, 15, 250e6, loc),
		" 2026-07-01T09:30:15.123456\n":    time.Date(2026, 7, 1, 9, 30, 15, 123456e3, loc),
		"20260201T0930":                    time.Date(2026, 2, 1, 9, 30, 0, 0, loc),
		"2026-02-01T09:30Z":                time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC),
		"2026-02-01T09:30:00z":             time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC),
		"2026-02-01T09:30:00.5+05:30":      time.Date(2026, 2, 1, 4, 0, 0, 500e6, time.UTC),
		"2026-02-01T09:30:00-0800":         time.Date(2026, 2, 1, 17, 30, 0, 0, time.UTC),
		"2026-02-01T09:30:00.123456+01":    time.Date(2026, 2, 1, 8, 30, 0, 123456e3, time.UTC),
		"2026-02-01T09:30:00.123456+01:00": time.Date(2026, 2, 1, 8, 30, 0, 123456e3, time.UTC),
	} {
		if got, err := isotime.Parse(text, loc); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "now", "2026", "2026-13-01T00:00", "2026-02-01T25:00", "2026-02-01T09:30 Berlin", "09:30"} {
		if got, err := isotime.Parse(text, loc); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestNext(t *testing.T) {
	loc := berlin(t)
	for _, test := range []struct {
		now, clock, want string
	}{
		{"2026-02-01T08:59:59", "09:00", "2026-02-01T09:00:00"},
		{"2026-02-01T09:00:00", "09:00", "2026-02-02T09:00:00"},
		{"2026-12-31T23:00:00", " 9:05", "2027-01-01T09:05:00"},
		{"2026-02-01T23:30:00", "00:00", "2026-02-02T00:00:00"},
		{"2026-03-28T12:00:00", "02:30", "2026-03-29T02:30:00"}, // which no clock shows: it is read as an hour from it
	} {
		now, err := isotime.Parse(test.now, loc)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := isotime.Next(test.clock, now, loc); !ok || got != test.want {
			t.Errorf("%s after %s: %q, %v; want %s", test.clock, test.now, got, ok, test.want)
		}
	}
	for _, text := range []string{"", "9", "25:00", "09:60", "2026-02-01T09:30", "09:00Z", "soon"} {
		if got, ok := isotime.Next(text, time.Now(), loc); ok {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2026-02-01", "2026-02-01T09:30:15.123456+01:00", "20260201T093015Z", "2026-10-25T02:30", "x"} {
		f.Add(s)
	}
	loc := berlin(f)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := isotime.Parse(s, loc)
		if err != nil {
			return
		}
		text := isotime.Naive(at, loc)
		if y := at.In(loc).Year(); y < 1 || y > 9999 {
			return // no four digits
		}
		// An hour of local time comes twice when summer time ends.
		if got, err := isotime.Parse(text, loc); err != nil || got.Sub(at.Truncate(time.Microsecond)).Abs() > time.Hour {
			t.Errorf("%q is %v, written as %q, read as %v, %v", s, at, text, got, err)
		}
	})
}
