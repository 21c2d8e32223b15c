package instance_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/watch"
)

func openInstance(t *testing.T) *instance.Instance {
	t.Helper()
	state, data := t.TempDir(), t.TempDir()
	in, err := instance.Open(registry.Instance{Name: "demo", Path: data}, func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// index writes that a tick has begun, and, with a reason, how it ended.
func index(t *testing.T, in *instance.Instance, number int, reason plan.Reason) {
	t.Helper()
	w := history.NewWriter(in.Repo, history.Tick{Number: number, Began: now.Add(time.Duration(number) * time.Minute), Transcript: datarepo.TickLog(number)})
	err := w.Begin()
	if reason != "" {
		err = errors.Join(err, w.End(plan.State{Outcome: plan.Outcome{Reason: reason}}, now.Add(time.Duration(number)*time.Minute+time.Second), time.Time{}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, in *instance.Instance, n int) {
	t.Helper()
	if err := in.Repo.Write("system/state.json", fmt.Appendf(nil, `{"tick_count": %d}`, n)); err != nil {
		t.Fatal(err)
	}
}

func numbers(p instance.TickPage) string {
	var all []string
	for _, t := range p.Ticks {
		all = append(all, fmt.Sprint(t.Number))
	}
	return strings.Join(all, " ")
}

func TestTicksInPages(t *testing.T) {
	in := openInstance(t)
	if p, err := in.Ticks(0, 10); err != nil || len(p.Ticks) != 0 || p.Before != 0 {
		t.Errorf("before the first tick: %+v, %v", p, err)
	}
	if _, err := in.Tick(1); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "none yet") {
		t.Errorf("%v", err)
	}
	for _, n := range []int{1, 2, 3, 5, 6, 7} { // of 4 there is nothing
		index(t, in, n, plan.Normal)
	}
	count(t, in, 7)
	for _, test := range []struct {
		before, n int
		want      string
		next      int
	}{
		{0, 3, "7 6 5", 5},
		{5, 3, "3 2 1", 0},
		{0, 100, "7 6 5 3 2 1", 0},
		{3, 1, "2", 2},
		{1, 10, "", 0},
		{99, 2, "7 6", 6},
	} {
		if p, err := in.Ticks(test.before, test.n); err != nil || numbers(p) != test.want || p.Before != test.next {
			t.Errorf("%d before %d: %s, then %d; want %s, %d (%v)", test.n, test.before, numbers(p), p.Before, test.want, test.next, err)
		}
	}
	for n, want := range map[int]string{4: "nothing of tick 4", 8: "the last one is 7"} {
		if _, err := in.Tick(n); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), want) || fault.HintOf(err) == "" {
			t.Errorf("tick %d: %v", n, err)
		}
	}
	// A repository that was cloned without its logs has numbers, and no ticks.
	count(t, in, 100_000)
	p, err := in.Ticks(0, 10)
	if err != nil || len(p.Ticks) != 0 || p.Before != 98_001 {
		t.Errorf("%+v, %v", p, err)
	}
	// A damaged state is counted from the logs.
	if err := os.WriteFile(filepath.Join(in.Repo.Path(), "system/state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := in.LastTick(); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestStateOfTicks(t *testing.T) {
	in := openInstance(t)
	index(t, in, 1, plan.Fatal)
	index(t, in, 2, "")
	index(t, in, 3, "")
	count(t, in, 3)
	s := plan.First(3, now, "q", nil, plan.Limits{})
	s.Stage = plan.Turning
	if err := in.Dir.SaveTick(s); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		p, err := in.Ticks(0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range p.Ticks {
			all = append(all, string(one.State))
		}
		return strings.Join(all, ", ")
	}
	if got := states(); got != "cut off, unknown, ended" {
		t.Error(got)
	}
	lock, err := in.Dir.LockTick(watch.Holder{PID: 1, What: "tick demo", Since: now})
	if err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "running, unknown, ended" {
		t.Error(got)
	}
	three, err := in.Tick(3)
	if err != nil {
		t.Fatal(err)
	}
	if took, known := three.Took(three.Began.Add(time.Hour)); took != time.Hour || !known {
		t.Errorf("it runs for %v, %v", took, known)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	two, err := in.Tick(2)
	if err != nil {
		t.Fatal(err)
	}
	if took, known := two.Took(now); took != 0 || known {
		t.Errorf("a tick whose end is not known took %v, %v", took, known)
	}
}
