package wake

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

var written = time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)

// What is not understood is told with its place, and the rest counts.
func TestProblems(t *testing.T) {
	const file = `{"wakes": [
  {"time": "2026-02-01T09:30", "reason": "good"},
  7,
  {"reason": "no time"},
  {"time": "tomorrow", "reason": "bad time"},
  {"time": "0001-01-01T00:00", "reason": "bad year"},
  {"time": 5},
  {"time": "2026-02-01T09:30", "zone": "Mars/Olympus"},
  {"every": "1s"},
  {"every": "often"},
  {"cron": "* * *"},
  {"cron": "0 0 30 2 *"},
  {"cron": "@every 1h"},
  {"cron": "TZ=UTC 0 9 * * *"},
  {"cron": "0 9 * * *", "every": "1h"},
  {"time": "2026-02-01T09:30", "fulfilled": "yes"},
  {"cron": "0 9 * * 1-5", "zone": "Europe/Berlin", "reason": "good"}
]}`
	s, err := parseSchedule([]byte(file), written, time.UTC)
	if err != nil || len(s.entries) != 16 || len(s.problems) != 14 {
		t.Fatalf("%d entries, problems %v, %v", len(s.entries), s.problems, err)
	}
	for i, p := range s.problems {
		if want := fmt.Sprintf("system/schedule.json: line %d,", i+3); !strings.HasPrefix(p.Error(), want) {
			t.Errorf("%v, want %s", p, want)
		}
	}
	if all := s.unique(); len(all) != 2 || all[0].kind != once || all[1].kind != cron {
		t.Errorf("%+v", all)
	}
	data, err := s.encode()
	if err != nil || !sameJSON(t, data, []byte(file)) {
		t.Errorf("%s, %v", data, err)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

func TestNoSchedule(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"wakes": {}}`, `{"wakes": [`} {
		if s, err := parseSchedule([]byte(text), written, time.UTC); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
	if s, err := parseSchedule([]byte(`{}`), written, time.UTC); err != nil || len(s.entries) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

func TestMarks(t *testing.T) {
	const file = `{"version": "theirs", "wakes": [
  {"time": "2026-02-01T09:30", "reason": "a", "mood": {"x": 1}},
  {"time": "2026-01-30T09:30", "reason": "b", "fulfilled": true, "fulfilled_at": "2026-01-30T09:31:00"},
  {"time": "2026-01-30T09:30", "reason": "c", "fulfilled": true, "fulfilled_at": "2026-02-01T09:00:00"},
  {"time": "2026-01-30T09:30", "reason": "d", "fulfilled": true},
  {"what": "den does not know this"},
  {"time": "2026-02-01T09:30", "reason": "a"}
]}`
	s, err := parseSchedule([]byte(file), written, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
	l := &ledger{V: 1, Wakes: map[string]*row{s.entries[0].key: {Kind: once, Fired: now}}}
	if changed, err := s.mark(l, now, time.UTC); !changed || err != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version": "theirs", "wakes": [
  {"time": "2026-02-01T09:30", "reason": "a", "mood": {"x": 1}, "fulfilled": true, "fulfilled_at": "2026-02-01T10:00:00"},
  {"time": "2026-01-30T09:30", "reason": "c", "fulfilled": true, "fulfilled_at": "2026-02-01T09:00:00"},
  {"what": "den does not know this"},
  {"time": "2026-02-01T09:30", "reason": "a", "fulfilled": true, "fulfilled_at": "2026-02-01T10:00:00"}
]}`
	if !sameJSON(t, data, []byte(want)) {
		t.Errorf("%s", data)
	}
	if changed, err := s.mark(l, now, time.UTC); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
}

// A time without a zone is local, unless the entry has one.
func TestZones(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]time.Time{
		`{"time": "2026-07-01T09:00"}`:                             time.Date(2026, 7, 1, 7, 0, 0, 0, time.UTC),
		`{"time": "2026-07-01T09:00", "zone": "America/New_York"}`: time.Date(2026, 7, 1, 13, 0, 0, 0, time.UTC),
		`{"time": "2026-07-01T09:00+02:00", "zone": "Asia/Tokyo"}`: time.Date(2026, 7, 1, 7, 0, 0, 0, time.UTC),
		`{"time": "2026-07-01 09:00:00Z"}`:                         time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC),
	} {
		s, err := parseSchedule([]byte(`{"wakes": [`+text+`]}`), written, berlin)
		if err != nil || len(s.problems) > 0 || !s.entries[0].at.Equal(want) {
			t.Errorf("%s: %+v, %v; want %v", text, s, err, want)
		}
	}
}

func TestCron(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	at := func(text string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ rule, after, want string }{
		{"0 9 * * 1-5", "2026-02-06 09:00", "2026-02-09 09:00"},      // Friday to Monday
		{"*/15 * * * *", "2026-02-06 09:07", "2026-02-06 09:15"},     //
		{"0 0 13 * 5", "2026-02-07 00:00", "2026-02-13 00:00"},       // the 13th or a Friday
		{"0 0 13 * 5", "2026-02-13 00:00", "2026-02-20 00:00"},       //
		{"@daily", "2026-02-06 09:07", "2026-02-07 00:00"},           //
		{"0 0 29 2 *", "2026-02-06 09:07", "2028-02-29 00:00"},       //
		{"30 2 * * *", "2026-10-25 02:31", "2026-10-26 02:30"},       // 02:30 came twice, and counts once
		{" 0 9 * * sun ", "2026-02-06 09:00", "2026-02-08 09:00"},    //
		{"0 12 1 jan *", "2026-02-06 09:00", "2027-01-01 12:00"},     //
		{"15,45 8-10 * * *", "2026-02-06 10:45", "2026-02-07 08:15"}, //
	} {
		r, err := parseCron(c.rule, berlin, written)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := r.next(at(c.after)); !got.Equal(at(c.want)) {
			t.Errorf("%s after %s: %v, want %s", c.rule, c.after, got, c.want)
		}
	}
}

// A daily rule comes once on every date, also when the clock is changed; an
// hourly one goes by the time that passes.
func TestCronOverAYear(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"} {
		loc := zone(t, name)
		for _, rule := range []string{"30 2 * * *", "0 0 * * *", "30 23 * * *"} {
			r, err := parseCron(rule, loc, written)
			if err != nil {
				t.Fatal(err)
			}
			var dates []string
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, loc).Add(-time.Second)
			end := time.Date(2027, 1, 1, 0, 0, 0, 0, loc)
			for at := r.next(start); at.Before(end); at = r.next(at) {
				dates = append(dates, at.Format("2006-01-02"))
			}
			if len(dates) != 365 || len(slices.Compact(slices.Clone(dates))) != 365 {
				t.Errorf("%s %s: %d occurrences on %d dates", name, rule, len(dates), len(slices.Compact(dates)))
			}
		}
		r, err := parseCron("*/30 * * * *", loc, written)
		if err != nil {
			t.Fatal(err)
		}
		at := r.next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		for at.Before(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
			next := r.next(at)
			if gap := next.Sub(at); gap > 30*time.Minute || gap <= 0 {
				t.Errorf("%s: nothing from %v to %v", name, at, next)
			}
			at = next
		}
	}
}

func TestLastOccurrence(t *testing.T) {
	for _, rule := range []string{"* * * * *", "0 * * * *", "0 9 * * *", "0 9 1 * *", "0 9 1 1 *", "* 0-5 * * *"} {
		r, err := parseCron(rule, time.UTC, written)
		if err != nil {
			t.Fatal(err)
		}
		until := time.Date(2026, 5, 17, 8, 59, 30, 0, time.UTC)
		for _, back := range []time.Duration{time.Second, time.Minute, time.Hour, 30 * time.Hour, 40 * 24 * time.Hour, 800 * 24 * time.Hour} {
			var want time.Time
			for at := r.next(until.Add(-min(back, 500*24*time.Hour))); !at.After(until); at = r.next(at) {
				want = at
			}
			if got := r.last(until.Add(-back), until); !got.Equal(want) {
				t.Errorf("%s within %s: %v, want %v", rule, back, got, want)
			}
		}
	}
}

func FuzzSchedule(f *testing.F) {
	for _, s := range []string{
		`{"wakes":[{"time":"2026-02-01T09:30","reason":"x"},{"cron":"0 9 * * 1-5","zone":"Europe/Berlin"},{"every":"6h","time":"2026-02-01"}]}`,
		`{"wakes":[null,1,{"time":null}]}`, `{"wakes":null,"x":1}`, `{"wakes":[{"cron":"59 23 31 12 ?"}]}`, `{"wakes":[{"cron":"@triggered"}]}`,
	} {
		f.Add([]byte(s), int64(3600))
	}
	f.Fuzz(func(t *testing.T, data []byte, seconds int64) {
		s, err := parseSchedule(data, written, time.UTC)
		if err != nil {
			return
		}
		now := written.Add(time.Duration(seconds%(100*366*24*3600)) * time.Second)
		l := &ledger{V: ledgerVersion, Wakes: map[string]*row{}}
		due, _, _ := look(s, l, now)
		var ids []string
		for _, d := range due {
			if d.At.After(now) {
				t.Errorf("%v is due at %v", d, now)
			}
			ids = append(ids, d.ID)
		}
		if err := acknowledge(l, s, ids, now); err != nil {
			t.Fatal(err)
		}
		if again, _, _ := look(s, l, now); len(again) > 0 {
			t.Errorf("%v is due again", again)
		}
		if _, err := json.Marshal(l); err != nil {
			t.Errorf("the ledger cannot be written: %v", err)
		}
		before := len(s.entries)
		if _, err := s.mark(l, written, time.UTC); err != nil {
			t.Fatal(err)
		}
		encoded, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseSchedule(encoded, written, time.UTC)
		if err != nil || len(again.entries) != len(s.entries) || len(again.entries) > before {
			t.Errorf("%s: %v", encoded, err)
		}
	})
}

func FuzzLedger(f *testing.F) {
	for _, s := range []string{`{"v":1,"wakes":{"k":{"kind":"cron","seen":"2026-02-01T09:30:00Z","after":"2026-02-01T09:30:00Z","spans":[{"first":"2026-02-01T09:30:00Z","last":"2026-02-01T09:30:00Z"}]}}}`, `{"v":2}`, `{}`, `{"v":1,"wakes":{"k":null}}`} {
		f.Add([]byte(s))
	}
	const file = `{"wakes":[{"cron":"*/5 * * * *"},{"every":"1h"},{"time":"2026-02-01T09:30"}]}`
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLedger(data)
		if err != nil {
			return
		}
		s, err := parseSchedule([]byte(file), written, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range slices.Collect(maps.Values(l.Wakes)) { // as if they were of these wakes
			if i < len(s.entries) && r.Kind == s.entries[i].kind {
				l.Wakes[s.entries[i].key] = r
			}
		}
		look(s, l, written)
		look(s, l, written.AddDate(1, 0, 0))
	})
}
