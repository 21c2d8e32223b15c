package nights_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/session/home"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/nights"
)

var dusk = time.Date(2026, 11, 15, 18, 0, 0, 0, time.UTC)

// world is a user with one instance, "ada".
type world struct {
	testing.TB
	model *nights.Model
	data  string
	in    *instance.Instance
}

func newWorld(t testing.TB) *world {
	t.Helper()
	root := t.TempDir()
	getenv := func(key string) string { return map[string]string{"HOME": root}[key] }
	w := &world{TB: t, data: filepath.Join(root, "ada")}
	r, err := registry.New(getenv)
	if err == nil {
		err = os.Mkdir(w.data, 0o700)
	}
	var known registry.Instance
	if err == nil {
		known, err = r.Add(t.Context(), registry.Instance{Name: "ada", Path: w.data, Created: dusk})
	}
	if err == nil {
		w.in, err = instance.Open(known, getenv)
	}
	if err == nil {
		w.model, err = nights.New(getenv)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.in.Close() })
	return w
}

func (w *world) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.data, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.Fatal(err)
	}
}

// tick indexes one that ran for a second, with a terminal.
func (w *world) tick(number int, reason plan.Reason) {
	w.Helper()
	began := dusk.Add(time.Duration(number) * time.Minute)
	archive := datarepo.TerminalArchive(0, number, 0)
	i := history.NewWriter(w.in.Repo, history.Tick{Number: number, Began: began, Runner: "script", Transcript: datarepo.TickLog(number)})
	err := i.Terminal(history.Terminal{Number: 0, Command: "bash", Session: fmt.Sprint("s", number), Opened: began, Closed: began.Add(time.Second), Status: "exited (0)", Archive: archive, Recording: archive + "/recording.cast"})
	if reason != "" {
		err = errors.Join(err, i.End(plan.State{Outcome: plan.Outcome{Reason: reason, Why: strings.Repeat("x", 1000)}, Turns: 1}, began.Add(time.Second), time.Time{}))
	}
	if err == nil {
		err = w.in.Repo.Write("system/state.json", fmt.Appendf(nil, `{"tick_count": %d}`, number))
	}
	if err != nil {
		w.Fatal(err)
	}
}

const cast = `{"version":3,"term":{"cols":20,"rows":5},"timestamp":1}
[0.0, "o", "first\r\n"]
[2.0, "o", "second\r\n"]
[1.0, "x", "0"]
`

func TestAgents(t *testing.T) {
	w := newWorld(t)
	all, problem := w.model.Agents(t.Context(), time.Now())
	if problem != "" || len(all) != 1 || all[0].Name != "ada" || all[0].State != instance.Idle || all[0].Tick != 0 {
		t.Fatalf("%+v, %s", all, problem)
	}
	w.tick(3, plan.Normal)
	w.put("system/schedule.json", `{"wakes":[{"time":"2999-01-02T00:00","reason":"late"},{"time":"2998-01-01T00:00","reason":"sooner"},{"time":"2026-01-01T00:00","reason":"long ago"}]}`)
	w.put("system/paused", "Why: a test\n")
	all, _ = w.model.Agents(t.Context(), time.Now())
	a := all[0]
	if a.State != instance.Pausing || a.PausedSince.IsZero() || !strings.Contains(a.Paused, "a test") || a.Tick != 3 {
		t.Errorf("%+v", a)
	}
	if len(a.Wakes) != 2 || a.Wakes[0].Reason != "sooner" || len(a.Waiting) != 1 || a.Waiting[0].Reason != "long ago" {
		t.Errorf("wakes %+v, waiting %+v", a.Wakes, a.Waiting)
	}
	if err := os.Rename(w.data, w.data+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	if all, _ := w.model.Agents(t.Context(), time.Now()); all[0].State != nights.Missing || all[0].Why == "" {
		t.Errorf("a repository that was moved: %+v", all[0])
	}
}

func TestTicks(t *testing.T) {
	w := newWorld(t)
	for n := 1; n <= 4; n++ {
		w.tick(n, plan.Limit)
	}
	w.tick(5, "") // its end was never written
	p, err := w.model.Ticks("ada", 0, 3)
	if err != nil || len(p.Ticks) != 3 || p.Before != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if b := p.Ticks[0]; b.Number != 5 || b.State != instance.TickLost || !b.Open || b.Reason != "" || !b.Until.Equal(b.Began) {
		t.Errorf("without an end: %+v", b)
	}
	if b := p.Ticks[1]; b.State != instance.TickEnded || b.Open || b.Until.Sub(b.Began) != time.Second || b.Terminals != 1 || len(b.Why) > 400 {
		t.Errorf("%+v", b)
	}
	one, err := w.model.Tick("ada", 4)
	if err != nil || len(one.Terminals) != 1 || one.Terminals[0].Name != "0" || one.Last != 5 {
		t.Errorf("%+v, %v", one, err)
	}
	for name, err := range map[string]error{
		"an instance": second(w.model.Ticks("bob", 0, 1)), "no name": second(w.model.Ticks("../x", 0, 1)), "a tick": second(w.model.Tick("ada", 9)), "a transcript": second(w.model.Transcript("ada", 4, 0)),
	} {
		if kind := fault.KindOf(err); kind != fault.NotFound && !(name == "no name" && kind == fault.Usage) {
			t.Errorf("%s that is not there: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTranscriptInParts(t *testing.T) {
	w := newWorld(t)
	w.tick(1, plan.Normal)
	var b strings.Builder
	const all = 700
	for i := range all {
		fmt.Fprintf(&b, `{"type":"user","timestamp":"2026-11-15T18:01:00Z","message":{"content":"entry %d %s"}}`+"\n", i, strings.Repeat("ä", (i%2)*7_000))
	}
	w.put(datarepo.TickLog(1), b.String())
	from, n := 0, 0
	for {
		p, err := w.model.Transcript("ada", 1, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Entries {
			if !strings.HasPrefix(e.Text, fmt.Sprintf("entry %d ", n)) || e.Cut != (n%2 == 1) || len(e.Text) > 12<<10 {
				t.Fatalf("entry %d: %.40q, cut %v", n, e.Text, e.Cut)
			}
			n++
		}
		if p.Next == 0 {
			break
		}
		if p.Next != n {
			t.Fatalf("after %d entries comes %d", n, p.Next)
		}
		from = p.Next
	}
	if n != all {
		t.Errorf("%d entries", n)
	}
}

// The recording of a terminal is played as that of a session is.
func TestTerminal(t *testing.T) {
	w := newWorld(t)
	w.tick(1, plan.Normal)
	if _, _, err := w.model.Terminal("ada", 1, "0"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a recording that is gone: %v", err)
	}
	w.put(datarepo.TerminalArchive(0, 1, 0)+"/recording.cast", cast)
	rec, title, err := w.model.Terminal("ada", 1, "0")
	if err != nil || title != "ada-tick-001-terminal-0" {
		t.Fatalf("%s, %v", title, err)
	}
	m := dashboard.New(dashboard.Options{Home: home.Home{Path: t.TempDir()}})
	defer m.Close()
	line, err := m.Timeline(t.Context(), rec)
	if err != nil || line.Last.Elapsed != 3*time.Second || line.Exit != "0" || !line.Start.Equal(dusk.Add(time.Minute)) {
		t.Errorf("%+v, %v", line, err)
	}
	if again, err := m.Timeline(t.Context(), rec); err != nil || again.Last != line.Last {
		t.Errorf("read again: %+v, %v", again, err)
	}
	for at, want := range map[time.Duration]string{0: "first", time.Second: "first", 2 * time.Second: "first\nsecond"} {
		if f, err := m.AtTime(t.Context(), rec, at); err != nil || f.Screen.Text != want {
			t.Errorf("at %v: %+v, %v", at, f, err)
		}
	}
	end, err := m.AtSeq(t.Context(), rec, math.MaxUint64)
	if err != nil || end.Exit != "0" || end.Seq != 3 {
		t.Errorf("the end: %+v, %v", end, err)
	}
	if _, _, err := w.model.Terminal("ada", 1, "7"); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "0 (bash)") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	// A file that is replaced is another recording.
	w.put(datarepo.TerminalArchive(0, 1, 0)+"/recording.cast", strings.Replace(cast, "first", "other one", 1))
	other, _, err := w.model.Terminal("ada", 1, "0")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := m.AtTime(t.Context(), other, 0); err != nil || f.Screen.Text != "other one" {
		t.Errorf("%+v, %v", f, err)
	}
}

// A night of 500 ticks is one page.
func BenchmarkNight(b *testing.B) {
	w := newWorld(b)
	for n := 1; n <= nights.MaxPage; n++ {
		w.tick(n, plan.Normal)
	}
	for b.Loop() {
		if p, err := w.model.Ticks("ada", 0, nights.MaxPage); err != nil || len(p.Ticks) != nights.MaxPage {
			b.Fatal(len(p.Ticks), err)
		}
	}
}
