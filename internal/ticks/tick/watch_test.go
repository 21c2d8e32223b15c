package tick_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
	"den/internal/ticks/watch"
)

// brief are times for tests in which ticks fail.
var brief = watch.Policy{Patrol: time.Hour, FirstRest: time.Millisecond, LongestRest: time.Second}

// startWatch watches until the test ends, and returns how ticks end.
func (w *world) startWatch(p watch.Policy) (ended chan tick.Result) {
	w.Helper()
	ended = make(chan tick.Result, 100)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := tick.Watch(ctx, w.o, p, func(r tick.Result) { ended <- r }); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() { cancel(); watching.Wait() })
	return ended
}

// A sleeper is woken by what comes, without anybody looking at intervals.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch(brief)
	if err := w.o.Repo.RequestTick("one"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Normal || r.Tick != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := w.o.Repo.Notify(time.Now(), "two"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Tick != 2 {
		t.Errorf("%+v", r)
	}
	w.put("system/schedule.json", `{"wakes": [{"time": "2026-01-01T00:00:00", "reason": "three"}]}`)
	if r := <-ended; r.Tick != 3 {
		t.Errorf("%+v", r)
	}
	err := tick.Watch(t.Context(), w.o, watch.DefaultPolicy, func(tick.Result) {})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second watcher: %v", err)
	}
	if p := w.mind.prompt(1); !strings.Contains(p, "two") {
		t.Errorf("the second prompt: %q", p)
	}
}

// While it is paused nothing is consumed.
func TestPausedConsumesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){failing(runner.Failure{Class: runner.Auth}), well}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch(brief)
	if err := w.o.Repo.RequestTick("a reason"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Fatal {
		t.Fatalf("%+v", r)
	}
	if _, err := w.o.Repo.Notify(time.Now(), "meanwhile"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.o.Repo.Resume(); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Normal {
		t.Errorf("%+v", r)
	}
	if p := w.mind.prompt(1); !strings.Contains(p, "trigger: a reason") {
		t.Errorf("the prompt after the pause: %q", p)
	}
}

// A watcher completes what a killed one left before it begins anything.
func TestWatchCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if said := w.runChild(8); said != "" {
		t.Fatalf("it was not killed: %s", said)
	}
	w.released()
	ended := w.startWatch(brief)
	if r := <-ended; r.Outcome.Reason != plan.Crashed || r.Tick != 1 {
		t.Errorf("%+v", r)
	}
}

// A watcher also completes a tick by hand that was killed while it watched.
func TestWatchCompletesATickByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch(brief)
	if said := w.runChild(killedInTurn); said != "" {
		t.Fatalf("it was not killed: %s", said)
	}
	if r := <-ended; r.Outcome.Reason != plan.Crashed || r.Tick != 1 {
		t.Errorf("%+v", r)
	}
	if ran := w.lines("notes/ran"); len(ran) != 4 || ran[3] != "post-tick_1_30-c_abnormal_crashed" {
		t.Errorf("hooks %q", ran)
	}
	w.noSessions()
	if err := w.o.Repo.RequestTick("go on"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Normal || r.Tick != 2 {
		t.Errorf("%+v", r)
	}
}

// until polls the instance's files, which nobody tells the test of.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	if err := poll.Until(ctx, func() (bool, error) { return holds(), nil }); err != nil {
		w.Fatalf("it did not come to this: %s: %v\n%s", what, err, w.logs)
	}
}

// A schedule that is damaged keeps its own wakes from coming and nothing else.
// The agent is told, a note is left, and when it is mended its wakes come, once.
func TestScheduleIsDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told []string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		text, err := t.use("login", "")
		if err != nil {
			return runner.Result{}, err
		}
		told = append(told, text)
		if _, err := t.use("close", `{"tty":0}`); err != nil {
			return runner.Result{}, err
		}
		return t.say("done")
	}}
	w.o.Times.Lasting = 100 * time.Millisecond
	const good = `{"wakes": [{"time": "2026-01-01T00:00:00", "reason": "tea"}]}`
	w.put("system/schedule.json", good[:len(good)-3])
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch(brief)
	if err := w.o.Repo.RequestTick("go on"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Normal {
		t.Fatalf("%+v", r)
	}
	if p := w.mind.prompt(0); !strings.Contains(p, "trigger: go on") || strings.Contains(p, "tea") {
		t.Errorf("the first prompt: %q", p)
	}
	if !strings.Contains(told[0], "system/schedule.json: line 1") {
		t.Errorf("at login it was told %q", told[0])
	}
	w.until("a note is left", func() bool {
		return strings.Contains(w.read("system/crash_notify.txt"), "system/schedule.json: line 1")
	})
	w.put("system/schedule.json", good)
	if r := <-ended; r.Outcome.Reason != plan.Normal {
		t.Fatalf("%+v", r)
	}
	if p := w.mind.prompt(1); !strings.Contains(p, "wake: tea") {
		t.Errorf("the second prompt: %q", p)
	}
	if err := w.o.Repo.RequestTick("once more"); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Outcome.Reason != plan.Normal {
		t.Fatalf("%+v", r)
	}
	if p := w.mind.prompt(2); !strings.Contains(p, "trigger: once more") || strings.Contains(p, "tea") {
		t.Errorf("the third prompt: %q", p)
	}
	if strings.Contains(told[1]+told[2], "schedule.json") {
		t.Errorf("later it was told %q", told[1:])
	}
}

// A configuration that is wrong keeps ticks from beginning, consumes nothing,
// and leaves a note. Once it is mended nothing is waited for.
func TestConfigurationIsDamaged(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"not read":       `{"runner": "puppet", "limits": {"wal_time": "1h"}}`,
		"not understood": `{"runner": "puppet", "container": {"engine": "podman"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lodgeOnlyHere()
			w.o.Times.Lasting = 100 * time.Millisecond
			w.mind.turns = []func(*turn) (runner.Result, error){well}
			w.put("system/agent_config.json", broken)
			if err := w.o.Repo.Prepare(time.Now()); err != nil {
				t.Fatal(err)
			}
			ended := w.startWatch(watch.Policy{Patrol: time.Hour, FirstRest: time.Hour, LongestRest: time.Hour})
			if err := w.o.Repo.RequestTick("a reason"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.o.Repo.Notify(time.Now(), "some news"); err != nil {
				t.Fatal(err)
			}
			w.until("a note is left", func() bool { return w.read("system/crash_notify.txt") != "" })
			if note := w.read("system/crash_notify.txt"); !strings.Contains(note, "wal_time") && !strings.Contains(note, "no such place") {
				t.Errorf("the note says %q", note)
			}
			if m, err := w.o.Dir.PeekMemory(); err != nil || m.Failures != 0 || w.read("system/tick_trigger") == "" {
				t.Errorf("%+v, %v", m, err)
			}
			if s, err := w.o.Status(t.Context(), time.Now()); err != nil || name == "not read" && (s.State != instance.Resting || !strings.Contains(s.Why, "wal_time")) {
				t.Errorf("its status is %s: %s, %v", s.State, s.Why, err)
			}
			w.put("system/agent_config.json", `{"runner": "puppet"}`)
			if r := <-ended; r.Outcome.Reason != plan.Normal || r.Tick != 1 {
				t.Errorf("%+v", r)
			}
			if p := w.mind.prompt(0); !strings.Contains(p, "trigger: a reason") {
				t.Errorf("the prompt: %q", p)
			}
			if in, err := w.o.Repo.Notifications(time.Now().Add(time.Minute)); err != nil || len(in.Ready) != 0 {
				t.Errorf("it was not told the news: %v, %v", in, err)
			}
		})
	}
}
