package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"den/internal/ticks/datarepo"
)

// The model of this file is a machine with a clock that can be set, a schedule
// that tools write over, and a process that looks, records, tells the agent and
// acknowledges, and can be killed between any two of its writes.

var errKilled = errors.New("killed")

// machine is what survives a kill.
type machine struct {
	t        testing.TB
	rng      *rand.Rand
	passed   time.Duration // since the beginning, whatever the clock shows
	set      time.Duration // how far the clock was set, forward or back
	schedule []byte        // nil if there is none
	modified time.Time
	ledger   string // the file
	record   *record

	writes int  // until the process is killed; negative means never
	late   bool // it is killed after the write, not before

	looking bool // within Look
	noted   bool // a look of this round wrote what it saw

	told map[string]int // how often the agent was told of an occurrence, by ID
	log  []string
}

// record is a tick, as whoever runs ticks writes it down.
type record struct {
	ids  []string
	told bool
}

func newMachine(t testing.TB, seed uint64) *machine {
	m := &machine{t: t, rng: rand.New(rand.NewPCG(seed, 1)), writes: -1, told: map[string]int{}}
	m.ledger = filepath.Join(t.TempDir(), "wakes.json")
	return m
}

func (m *machine) now() time.Time { return written.Add(m.passed + m.set) }

func (m *machine) logf(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%s %s", m.now().Format("2006-01-02 15:04:05"), fmt.Sprintf(format, args...)))
}

func (m *machine) fail(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.log[max(0, len(m.log)-40):] {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

// write performs a write unless the process is killed before it, and reports
// whether the process goes on.
func (m *machine) write(do func()) error {
	if m.writes == 0 && !m.late {
		return errKilled
	}
	do()
	if m.writes == 0 {
		return errKilled
	}
	m.writes--
	return nil
}

// store is the process's own, new after every kill.
func (m *machine) store() *Store {
	s := New(m, m.ledger, time.UTC)
	s.ledger.write = func(path string, data []byte) error {
		return m.write(func() {
			os.Remove(path) // a file system may sync what is written over
			if err := os.WriteFile(path, data, 0o600); err != nil {
				m.t.Fatal(err)
			}
			m.noted = m.noted || m.looking
		})
	}
	return s
}

// The machine is the data repository.

func (m *machine) Read(string, int64) ([]byte, time.Time, error) {
	if m.schedule == nil {
		return nil, time.Time{}, fs.ErrNotExist
	}
	return m.schedule, m.modified, nil
}

func (m *machine) Swap(_ string, old, data []byte) error {
	if !bytes.Equal(old, m.schedule) {
		return datarepo.ErrChanged
	}
	return m.write(func() { m.schedule, m.modified = data, m.now() })
}

func (m *machine) Edit(_ context.Context, change func() error) error { return change() }

// round is one look and, if something is due, one tick. It returns what the
// agent was told, and false if the process was killed.
func (m *machine) round() (told []string, alive bool) {
	s, ctx := m.store(), m.t.Context()
	m.noted = false
	if m.record != nil && m.record.told {
		if err := s.Acknowledge(ctx, m.now(), m.record.ids...); err != nil {
			return nil, m.killed(err)
		}
	}
	if m.write(func() { m.record = nil }) != nil {
		return nil, false
	}
	m.looking = true
	look, err := s.Look(ctx, m.now())
	m.looking = false
	if err != nil {
		return nil, m.killed(err)
	}
	if len(look.Problems) != bytes.Count(m.schedule, []byte("unknown")) {
		m.fail("%v", look.Problems)
	}
	if len(look.Due) == 0 {
		return nil, true
	}
	r := &record{}
	for _, d := range look.Due {
		r.ids = append(r.ids, d.ID)
	}
	if m.write(func() { m.record = r }) != nil {
		return nil, false
	}
	if err := m.write(func() {
		r.told = true
		for _, id := range r.ids {
			m.told[id]++
			told = append(told, id)
			m.logf("told %s", id)
		}
	}); err != nil {
		return told, false
	}
	if err := s.Acknowledge(ctx, m.now(), r.ids...); err != nil {
		return told, m.killed(err)
	}
	return told, true
}

// killed checks that an error is the kill and nothing else.
func (m *machine) killed(err error) (alive bool) {
	m.t.Helper()
	if !errors.Is(err, errKilled) {
		m.fail("%v", err)
	}
	return false
}

// settle has rounds without kills until nothing is due.
func (m *machine) settle() {
	m.writes = -1
	for range 5 {
		if told, _ := m.round(); len(told) == 0 {
			return
		}
	}
	m.fail("something is due again and again")
}

func (m *machine) put(text string) {
	m.schedule, m.modified = []byte(text), m.now()
}

// Every wake of a schedule comes exactly once, wherever the process is killed.
func TestKilledAnywhere(t *testing.T) {
	const file = `{"wakes": [
  {"time": "2026-02-01T08:10", "reason": "a"},
  {"time": "2026-02-01T08:20", "reason": "b"},
  {"every": "15m", "reason": "c"},
  {"cron": "*/20 * * * *", "reason": "d"}
]}`
	for _, late := range []bool{false, true} {
		for first := range 8 {
			for second := range 8 {
				m := newMachine(t, 1)
				m.put(file)
				m.settle() // the schedule is seen
				m.passed = 25 * time.Minute
				for _, at := range []int{first, second} {
					m.writes, m.late = at, late
					m.round()
				}
				m.settle()
				if len(m.told) != 4 {
					m.fail("killed at writes %d and %d: told of %v", first, second, m.told)
				}
				m.once()
			}
		}
	}
}

// once checks that no occurrence was told twice.
func (m *machine) once() {
	m.t.Helper()
	for id, n := range m.told {
		if n != 1 {
			m.fail("%s was told %d times", id, n)
		}
	}
}

// A tool that writes an old schedule over the marks does not bring wakes back.
func TestMarksWrittenOver(t *testing.T) {
	m := newMachine(t, 1)
	const file = `{"wakes": [{"time": "2026-02-01T08:10", "reason": "a"}, {"cron": "*/20 * * * *", "reason": "d"}]}`
	m.put(file)
	m.settle()
	m.passed = 25 * time.Minute
	m.settle()
	m.put(file)
	m.settle()
	if len(m.told) != 2 {
		m.fail("told of %v", m.told)
	}
	m.once()
	if err := m.store().Tidy(t.Context(), m.now()); err != nil || !bytes.Contains(m.schedule, []byte(`"fulfilled": true`)) {
		t.Errorf("%s, %v", m.schedule, err)
	}
}

// FuzzLaws is the model with random kills, sleeps, clocks and tools, beside
// a reference that works in another way.
func FuzzLaws(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newMachine(t, seed).live() })
}

// cronMinutes is the interval of the model's cron entry: occurrences are the
// multiples of it.
const cronMinutes = 10

const everyMinutes = 15

// expected is the reference. It enumerates occurrences.
type expected struct {
	after    time.Time          // nothing up to this is due
	done     map[time.Time]bool // occurrences that were told each by itself
	cronKey  string
	everyKey string
	onceKeys map[string]time.Time
}

// due is the last occurrence of the cron entry that was not told, zero if there
// is none.
func (e *expected) due(now time.Time) time.Time {
	const step = cronMinutes * time.Minute
	for at := now.Truncate(step); at.After(e.after); at = at.Add(-step) {
		if !e.done[at] {
			return at
		}
	}
	return time.Time{}
}

func (m *machine) live() {
	var wakes []string
	for i := range 6 {
		at := written.Add(time.Duration(m.rng.IntN(600)) * time.Minute)
		wakes = append(wakes, fmt.Sprintf(`{"time": %q, "reason": "once %d"}`, at.Format("2006-01-02T15:04:05"), i))
	}
	wakes = append(wakes, `{"unknown": true}`, fmt.Sprintf(`{"cron": "*/%d * * * *", "reason": "cron"}`, cronMinutes))
	if m.rng.IntN(2) == 0 { // each must be right without the other
		wakes = append(wakes, fmt.Sprintf(`{"every": "%dm", "reason": "every"}`, everyMinutes))
	}
	file := `{"wakes": [` + joined(wakes) + `]}`
	m.put(file)
	e := m.reference(file)
	m.settle()
	forward, everyTold := 0, 0
	calm := time.Duration(-1) // since when a look and the clock were undisturbed and nothing was told; negative if they were not
	for range 150 {
		switch m.rng.IntN(12) {
		case 0:
			m.set -= time.Duration(m.rng.IntN(90)) * time.Minute
			m.logf("the clock is set back")
			calm = -1
		case 1:
			m.set += time.Duration(m.rng.IntN(60)) * time.Minute
			forward++
			m.logf("the clock is set forward")
		case 2:
			m.schedule = []byte(file) // a tool writes what it read long ago
			m.logf("the schedule is written over")
		default:
			m.passed += time.Duration(m.rng.IntN(12*60)) * time.Second
		}
		m.writes, m.late = -1, m.rng.IntN(2) == 0
		if m.rng.IntN(3) == 0 {
			m.writes = m.rng.IntN(7)
		}
		told, alive := m.round()
		m.checkCron(e, told, alive)
		before := everyTold
		for _, id := range told {
			if key, _, _ := parseID(id); key == e.everyKey {
				everyTold++
			}
		}
		switch {
		case everyTold > before || e.everyKey == "":
			calm = -1
		case alive && calm < 0:
			calm = m.passed
		case alive && m.passed-calm >= everyMinutes*time.Minute:
			m.fail("nothing for %v of what comes every %d minutes", m.passed-calm, everyMinutes)
		}
	}
	m.writes = -1
	m.passed += 100 * time.Hour
	m.round()
	m.once2(e)
	for key, at := range e.onceKeys {
		if m.told[idOf(key, at)] != 1 {
			m.fail("the wake of %v was told %d times", at, m.told[idOf(key, at)])
		}
	}
	if most := int(m.passed/(everyMinutes*time.Minute)) + 1 + 4*forward + 1; everyTold > most {
		m.fail("told %d times of what comes every %d minutes, within %v", everyTold, everyMinutes, m.passed)
	}
}

// once2 checks that no occurrence of a clock's time was told twice. What comes
// every so often goes by the time that passes: if the clock is set back, it may
// come at the same reading again.
func (m *machine) once2(e *expected) {
	for id, n := range m.told {
		if key, _, _ := parseID(id); key != e.everyKey && n != 1 {
			m.fail("%s was told %d times", id, n)
		}
	}
}

func joined(parts []string) string {
	var b bytes.Buffer
	for i, p := range parts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p)
	}
	return b.String()
}

func (m *machine) reference(file string) *expected {
	s, err := parseSchedule([]byte(file), m.modified, time.UTC)
	if err != nil {
		m.fail("%v", err)
	}
	e := &expected{after: m.modified, done: map[time.Time]bool{}, onceKeys: map[string]time.Time{}}
	for _, entry := range s.unique() {
		switch entry.kind {
		case once:
			e.onceKeys[entry.key] = entry.at
		case cron:
			e.cronKey = entry.key
		case every:
			e.everyKey = entry.key
		}
	}
	return e
}

// checkCron compares a round with the reference.
func (m *machine) checkCron(e *expected, told []string, alive bool) {
	m.t.Helper()
	i := slices.IndexFunc(told, func(id string) bool { key, _, _ := parseID(id); return key == e.cronKey })
	if (i >= 0 || alive || m.noted) && m.now().Before(e.after) {
		e.after = m.now()
	}
	if i < 0 && !alive {
		return // it was killed before it told anything
	}
	want := e.due(m.now())
	var got time.Time
	if i >= 0 {
		_, got, _ = parseID(told[i])
	}
	if !got.Equal(want) {
		m.fail("told of the occurrence %v, want %v", got, want)
	}
	if !got.IsZero() {
		e.done[got] = true
		if got.After(e.after) {
			e.after = got
		}
	}
}

// An old acknowledgement that is repeated does not bring back what came later.
func TestOldAcknowledgements(t *testing.T) {
	s, err := parseSchedule([]byte(`{"wakes": [{"every": "1h"}, {"cron": "0 * * * *"}, {"time": "2026-02-01T09:00"}]}`), written, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{V: ledgerVersion, Wakes: map[string]*row{}}
	look(s, l, written)
	var ids []string
	for h := 1; h <= 5; h++ {
		now := written.Add(time.Duration(h) * time.Hour)
		due, _, _ := look(s, l, now)
		for _, d := range due {
			ids = append(ids, d.ID)
		}
		if err := acknowledge(l, s, ids, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := acknowledge(l, s, ids[:3], written); err != nil {
		t.Fatal(err)
	}
	if due, _, _ := look(s, l, written.Add(5*time.Hour)); len(due) > 0 || len(ids) != 11 {
		t.Errorf("%v is due; %d occurrences", due, len(ids))
	}
}

// The same over a real repository and a real ledger.
func TestStore(t *testing.T) {
	repo, err := datarepo.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	ledger := filepath.Join(t.TempDir(), "state", "wakes.json")
	s := New(repo, ledger, time.UTC)
	now := time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
	if l, err := s.Look(t.Context(), now); err != nil || len(l.Due) != 0 || !l.Next.IsZero() {
		t.Errorf("%+v, %v", l, err)
	}
	id, err := s.Add(t.Context(), now, Spec{Time: "2026-02-01T08:30", Reason: "tea"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), now, Spec{Cron: "0 9 * * *", Zone: "Europe/Berlin"}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Spec{{}, {Time: "soon"}, {Cron: "x"}, {Every: "1s"}, {Time: "2026-02-01T08:30", Zone: "Nowhere"}} {
		if _, err := s.Add(t.Context(), now, bad); err == nil {
			t.Errorf("%+v was added", bad)
		}
	}
	tea := now.Add(30 * time.Minute)
	if l, err := s.Look(t.Context(), now); err != nil || len(l.Due) != 0 || !l.Next.Equal(tea) || len(l.Wakes) != 2 || l.Wakes[0].ID != id {
		t.Errorf("%+v, %v", l, err)
	}
	l, err := s.Look(t.Context(), tea)
	if err != nil || len(l.Due) != 1 || l.Due[0].Reason != "tea" {
		t.Fatalf("%+v, %v", l, err)
	}
	for range 2 {
		if err := s.Acknowledge(t.Context(), tea, l.Due[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := s.Look(t.Context(), tea); err != nil || len(l.Due) != 0 || !l.Wakes[0].Fulfilled {
		t.Errorf("%+v, %v", l, err)
	}
	if data, err := os.ReadFile(filepath.Join(repo.Path(), "system/schedule.json")); err != nil || !bytes.Contains(data, []byte(`"fulfilled_at": "2026-02-01T08:30:00"`)) {
		t.Errorf("%s, %v", data, err)
	}
	if err := s.Cancel(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := s.Cancel(t.Context(), id); err == nil {
		t.Error("cancelled twice")
	}
	if err := s.Acknowledge(t.Context(), tea, "no id"); err == nil {
		t.Error("acknowledged what is none")
	}
	if err := os.WriteFile(ledger, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Look(t.Context(), tea); err != nil || len(l.Problems) != 1 {
		t.Errorf("a damaged ledger: %+v, %v", l, err)
	}
	if l, err := s.Look(t.Context(), tea); err != nil || len(l.Problems) != 0 {
		t.Errorf("after it was kept aside: %+v, %v", l, err)
	}
	if err := os.WriteFile(ledger, []byte(`{"v": 9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Look(t.Context(), tea); err == nil {
		t.Errorf("a newer ledger: %+v", l)
	}
}

// A time of day is the next one in the zone of the wake, and stays that.
func TestTimeOfDay(t *testing.T) {
	repo, err := datarepo.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	s := New(repo, filepath.Join(t.TempDir(), "wakes.json"), time.UTC)
	now := time.Date(2026, 2, 1, 8, 30, 0, 0, time.UTC)
	for _, w := range []Spec{{Time: "09:00"}, {Time: "09:00", Zone: "Europe/Berlin"}, {Time: "08:00", Every: "6h"}} {
		if _, err := s.Add(t.Context(), now, w); err != nil {
			t.Fatal(err)
		}
	}
	l, err := s.Look(t.Context(), now)
	if err != nil || len(l.Wakes) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	for i, want := range []string{"2026-02-01T09:00:00", "2026-02-02T09:00:00", "2026-02-02T08:00:00"} {
		if got := l.Wakes[i].Time; got != want {
			t.Errorf("wake %d is at %s, want %s", i, got, want)
		}
	}
}
