package tick_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/fault"
	"den/internal/kernel/plan"
	"den/internal/kernel/tick"
	"den/internal/kernel/watch"
	"den/internal/runner"
)

// startWatch watches until the test ends, and returns how ticks end.
func (w *world) startWatch() (ended chan tick.Result) {
	w.Helper()
	ended = make(chan tick.Result, 100)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := tick.Watch(ctx, w.o, watch.Policy{Patrol: time.Hour, FirstRest: time.Millisecond, LongestRest: time.Second}, func(r tick.Result) { ended <- r }); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() { cancel(); watching.Wait() })
	return ended
}

// A sleeper is woken by what comes, without anybody looking at intervals.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch()
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
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){failing(runner.Failure{Class: runner.Auth}), well}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	ended := w.startWatch()
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
	w := newWorld(t)
	w.hooks()
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if said := w.runChild(8); said != "" {
		t.Fatalf("it was not killed: %s", said)
	}
	w.released()
	ended := w.startWatch()
	if r := <-ended; r.Outcome.Reason != plan.Crashed || r.Tick != 1 {
		t.Errorf("%+v", r)
	}
}
