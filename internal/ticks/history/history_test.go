package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
)

var midnight = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return midnight.Add(d) }

func newRepo(t *testing.T) *datarepo.Repo {
	t.Helper()
	r, err := datarepo.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// put writes a file of the repository, and sets when it was written.
func put(t *testing.T, r *datarepo.Repo, name, text string, written time.Time) {
	t.Helper()
	path := filepath.Join(r.Path(), name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, written, written))
}

// first is what is known of a tick when it begins.
func first(number int) history.Tick {
	return history.Tick{
		Number: number, Began: midnight, Runner: "claude", Model: "m", Causes: []plan.Cause{{Kind: plan.ByTrigger, Reason: strings.Repeat("ä", 1000)}},
		Transcript: datarepo.TickLog(number),
	}
}

func opened(number int, session string, at time.Duration) history.Terminal {
	return history.Terminal{Number: number, Command: "bash", Session: session, Opened: after(at)}
}

func closed(one history.Terminal, at time.Duration, archive string) history.Terminal {
	one.Closed, one.Status, one.Archive, one.Recording = after(at), "exited (0)", archive, archive+"/recording.cast"
	return one
}

func read(t *testing.T, r *datarepo.Repo, number int) history.Tick {
	t.Helper()
	got, err := history.Read(r, number)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestIndexOfATick(t *testing.T) {
	r := newRepo(t)
	w := history.NewWriter(r, first(7))
	must(t, w.Begin())
	put(t, r, datarepo.TickLog(7), "", after(time.Second))
	if got := read(t, r, 7); got.Runner != "claude" || got.Model != "m" || !got.Ended.IsZero() || !got.Seen.Equal(after(time.Second)) || got.Outcome.Reason != "" || len([]rune(got.Causes[0].Reason)) != 501 {
		t.Errorf("a tick that has begun: %+v", got)
	}
	zero := opened(0, "s0", time.Second)
	must(t, w.Terminal(zero), w.Terminal(opened(3, "s3", 2*time.Second)))
	must(t, w.Terminal(closed(zero, 4*time.Second, "system/logs/sessions/tty_0-tick-007")))
	again := opened(0, "s0b", 5*time.Second)
	must(t, w.Terminal(again), w.Terminal(closed(again, 6*time.Second, "system/logs/sessions/tty_0-tick-007-1")))
	must(t, w.End(plan.State{Outcome: plan.Outcome{Reason: plan.Normal}, Turns: 3, CostUSD: 0.5, Context: plan.Context{Tokens: 10, Window: 100}, LastText: "done"}, after(9*time.Second), time.Time{}))

	got := read(t, r, 7)
	until, known := got.Until()
	if !until.Equal(after(9*time.Second)) || !known || got.Outcome.Reason != plan.Normal || got.Turns != 3 || got.CostUSD != 0.5 || got.Context.Window != 100 || got.Last != "done" || got.Reconstructed {
		t.Errorf("a tick that has ended: %+v", got)
	}
	var names []string
	for _, one := range got.Terminals {
		names = append(names, one.Name+" "+one.Session+" "+one.Recording)
	}
	want := []string{"0 s0 system/logs/sessions/tty_0-tick-007/recording.cast", "3 s3 ", "0-1 s0b system/logs/sessions/tty_0-tick-007-1/recording.cast"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("terminals %q, want %q", names, want)
	}
	if one, err := got.Terminal("0-1"); err != nil || one.Session != "s0b" {
		t.Errorf("terminal 0-1: %+v, %v", one, err)
	}
	if _, err := got.Terminal("5"); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "0-1 (bash)") {
		t.Errorf("terminal 5: %v (%s)", err, fault.HintOf(err))
	}
}

// The end of a tick whose process was killed is not made up.
func TestEndOfATickThatWasKilled(t *testing.T) {
	crashed := plan.Outcome{Reason: plan.Crashed, Why: "its process was killed"}
	for name, test := range map[string]struct {
		before  func(w *history.Writer) error // what the process that was killed wrote last
		ended   time.Time
		seen    time.Time
		outcome plan.Reason
	}{
		"before it was indexed": {func(*history.Writer) error { return nil }, time.Time{}, after(time.Minute), plan.Crashed},
		"while it ran":          {(*history.Writer).Begin, time.Time{}, after(time.Minute), plan.Crashed},
		"after its end was written": {func(w *history.Writer) error {
			return w.End(plan.State{Outcome: plan.Outcome{Reason: plan.Normal}}, after(30*time.Second), time.Time{})
		}, after(30 * time.Second), time.Time{}, plan.Normal},
	} {
		r := newRepo(t)
		must(t, test.before(history.NewWriter(r, first(1))))
		outcome := crashed
		if test.outcome == plan.Normal {
			outcome = plan.Outcome{Reason: plan.Normal} // it was decided before
		}
		// Another process, hours later, and with another configuration.
		late := first(1)
		late.Runner = "codex"
		must(t, history.NewWriter(r, late).End(plan.State{Outcome: outcome}, after(9*time.Hour), after(time.Minute)))
		got := read(t, r, 1)
		if !got.Ended.Equal(test.ended) || !got.Seen.Equal(test.seen) || got.Outcome.Reason != test.outcome || got.Completed.IsZero() != (test.outcome == plan.Normal) {
			t.Errorf("killed %s: %+v", name, got)
		}
		if name != "before it was indexed" && got.Runner != "claude" {
			t.Errorf("killed %s: the runner is %s", name, got.Runner)
		}
	}
}

// A number that was used before, as after state.json was lost, gets an index of
// its own.
func TestAnotherTickOfTheSameNumber(t *testing.T) {
	r := newRepo(t)
	old := first(1)
	old.Began = after(-time.Hour)
	must(t, history.NewWriter(r, old).Terminal(opened(4, "old", 0)))
	must(t, history.NewWriter(r, first(1)).Begin())
	if got := read(t, r, 1); len(got.Terminals) > 0 || !got.Began.Equal(midnight) {
		t.Errorf("%+v", got)
	}
}

const status = "exited (2)\ncommand: make test\nprogram: make\nsession: s9\ncreated: 2026-11-16T00:00:05Z\nlabel: build\n"

func TestReadWithoutAnIndex(t *testing.T) {
	begun := `{"type":"system","subtype":"tick_begun","timestamp":"2026-11-16T00:00:01Z","tick":2}` + "\n"
	ended := `{"type":"system","subtype":"tick_ended","timestamp":"2026-11-16T00:01:00Z","tick":2,"detail":{"reason":"limit","why":"rounds","turns":4,"cost_usd":0.2}}` + "\n"
	foreign := `{"type":"summary","summary":"x"}` + "\n" + `{"type":"user","timestamp":"2026-11-16T00:00:02Z","message":{"role":"user","content":"hi"}}` + "\n"
	for name, test := range map[string]struct {
		transcript string // or "": none
		index      string // or "": none
		archive    bool
		want       history.Tick
	}{
		"whole":              {begun + ended, "", false, history.Tick{Began: after(time.Second), Ended: after(time.Minute), Outcome: plan.Outcome{Reason: plan.Limit, Why: "rounds"}, Turns: 4, CostUSD: 0.2, Transcript: datarepo.TickLog(2)}},
		"killed":             {begun, "", false, history.Tick{Began: after(time.Second), Seen: after(time.Second), Transcript: datarepo.TickLog(2)}},
		"of another program": {foreign, "", false, history.Tick{Began: after(2 * time.Second), Seen: after(2 * time.Second), Transcript: datarepo.TickLog(2)}},
		"no time in it":      {"{}\n", "", false, history.Tick{Seen: after(time.Hour), Transcript: datarepo.TickLog(2)}},
		"a damaged index":    {begun + ended, `{"v":1,"ti`, false, history.Tick{Began: after(time.Second), Ended: after(time.Minute), Outcome: plan.Outcome{Reason: plan.Limit, Why: "rounds"}, Turns: 4, CostUSD: 0.2, Transcript: datarepo.TickLog(2)}},
		"an index of another": {begun, `{"v":1,"tick":3,"began":"2026-11-16T00:00:01Z"}`, false,
			history.Tick{Began: after(time.Second), Seen: after(time.Second), Transcript: datarepo.TickLog(2)}},
		"only an archive": {"", "", true, history.Tick{Began: after(5 * time.Second), Seen: after(time.Hour), Terminals: []history.Terminal{{
			Name: "6", Number: 6, Command: "make test", Label: "build", Session: "s9", Opened: after(5 * time.Second), Closed: after(time.Hour), Status: "exited (2)",
			Archive: "system/logs/sessions/tty_6-tick-002", Recording: "system/logs/sessions/tty_6-tick-002/recording.cast",
		}}}},
	} {
		r := newRepo(t)
		if test.transcript != "" {
			put(t, r, datarepo.TickLog(2), test.transcript, after(time.Hour))
		}
		if test.index != "" {
			put(t, r, datarepo.TickIndex(2), test.index, after(time.Hour))
		}
		if test.archive {
			put(t, r, "system/logs/sessions/tty_6-tick-002/status", status, after(time.Hour))
			put(t, r, "system/logs/sessions/tty_6-tick-002/recording.cast", "{}", after(time.Hour))
		}
		got := read(t, r, 2)
		test.want.V, test.want.Number, test.want.Reconstructed = history.Version, 2, true
		normalise(&got)
		normalise(&test.want)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, test.want)
		}
	}
	if _, err := history.Read(newRepo(t), 2); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a tick of which there is nothing: %v", err)
	}
}

// normalise makes times comparable.
func normalise(t *history.Tick) {
	t.Began, t.Ended, t.Seen, t.Completed = t.Began.UTC(), t.Ended.UTC(), t.Seen.UTC(), t.Completed.UTC()
	for i := range t.Terminals {
		one := &t.Terminals[i]
		one.Opened, one.Closed = one.Opened.UTC(), one.Closed.UTC()
	}
}

// A terminal whose process was killed between its archive and the index is
// found by its session.
func TestArchiveThatIsNotIndexed(t *testing.T) {
	r := newRepo(t)
	w := history.NewWriter(r, first(2))
	must(t, w.Terminal(opened(6, "other", 0)), w.Terminal(opened(6, "s9", time.Second)), w.Terminal(opened(1, "live", time.Second)))
	put(t, r, "system/logs/sessions/tty_6-tick-002/status", strings.Replace(status, "s9", "other", 1), after(time.Minute))
	put(t, r, "system/logs/sessions/tty_6-tick-002-1/status", status, after(time.Minute))
	put(t, r, "system/logs/sessions/tty_6-tick-002-1/recording.cast", "{}", after(time.Minute))
	got := read(t, r, 2)
	if one, err := got.Terminal("6-1"); err != nil || one.Archive != "system/logs/sessions/tty_6-tick-002-1" || one.Recording == "" || one.Status != "exited (2)" {
		t.Errorf("%+v, %v", one, err)
	}
	if one, err := got.Terminal("6"); err != nil || one.Archive != "system/logs/sessions/tty_6-tick-002" || one.Recording != "" {
		t.Errorf("%+v, %v", one, err)
	}
	if one, err := got.Terminal("1"); err != nil || one.Archive != "" {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestAmend(t *testing.T) {
	r := newRepo(t)
	must(t, history.Amend(r, 5, opened(0, "s", 0))) // without an index
	if _, err := history.Read(r, 5); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it was made: %v", err)
	}
	w := history.NewWriter(r, first(5))
	must(t, w.Terminal(opened(0, "s", 0)), w.End(plan.State{Outcome: plan.Outcome{Reason: plan.Normal}}, after(time.Minute), time.Time{}))
	must(t, history.Amend(r, 5, closed(opened(0, "s", 0), time.Hour, "system/logs/sessions/tty_0-tick-005")))
	if got := read(t, r, 5); len(got.Terminals) != 1 || got.Terminals[0].Status != "exited (0)" || !got.Ended.Equal(after(time.Minute)) {
		t.Errorf("%+v", got)
	}
}

// The agent can write the index: names in it lead nowhere else.
func TestNamesStayBelowTheLogs(t *testing.T) {
	r := newRepo(t)
	put(t, r, datarepo.TickIndex(1), `{"v":1,"tick":1,"began":"2026-11-16T00:00:01Z","transcript":"system/prompt.md","terminals":[
		{"name":"9","tty":0,"archive":"system/logs/sessions/../../../x","recording":"/etc/passwd"},
		{"name":"9","tty":0,"archive":"system/logs/sessions/ok","recording":"system/logs/tick-001.jsonl"}]}`, midnight)
	got := read(t, r, 1)
	if got.Transcript != "" || got.Terminals[0].Archive+got.Terminals[0].Recording+got.Terminals[1].Recording != "" || got.Terminals[1].Archive == "" {
		t.Errorf("%+v", got)
	}
	if got.Terminals[0].Name != "0" || got.Terminals[1].Name != "0-1" {
		t.Errorf("names %s and %s", got.Terminals[0].Name, got.Terminals[1].Name)
	}
	put(t, r, datarepo.TickIndex(1), `{"v":99,"tick":1,"began":"2026-11-16T00:00:01Z"}`, midnight)
	if _, err := history.Read(r, 1); fault.KindOf(err) != fault.Protocol {
		t.Errorf("of a newer den: %v", err)
	}
}

// FuzzIndex: whatever is in the file, reading it ends, and names stay below the
// logs.
func FuzzIndex(f *testing.F) {
	f.Add(`{"v":1,"tick":1,"began":"2026-11-16T00:00:01Z","terminals":[{"tty":0,"archive":"system/logs/sessions/a"}]}`, "exited (0)\nsession: x\n")
	f.Add(`{"v":1`, "")
	f.Fuzz(func(t *testing.T, index, status string) {
		r := newRepo(t)
		put(t, r, datarepo.TickIndex(1), index, midnight)
		put(t, r, "system/logs/sessions/tty_0-tick-001/status", status, midnight)
		got, err := history.Read(r, 1)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, one := range got.Terminals {
			if names[one.Name] {
				t.Errorf("two terminals are %s", one.Name)
			}
			names[one.Name] = true
			for _, name := range []string{one.Archive, one.Recording} {
				if name != "" && !strings.HasPrefix(name, "system/logs/sessions/") {
					t.Errorf("%q", name)
				}
			}
		}
	})
}
