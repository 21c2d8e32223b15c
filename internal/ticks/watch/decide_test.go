package watch_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

var now = time.Unix(1_800_000_000, 0)

func TestDecide(t *testing.T) {
	p := watch.DefaultPolicy
	patrol := now.Add(p.Patrol)
	trigger := plan.Cause{Kind: plan.ByTrigger, ID: "t", Reason: "by a person\nand more"}
	wake := plan.Cause{Kind: plan.ByWake, ID: "w", Reason: "tea"}
	note := plan.Cause{Kind: plan.ByNotification, ID: "1.txt"}
	all := []plan.Cause{trigger, wake, note, note}
	failed := watch.Memory{Failures: 2, Ended: now.Add(-time.Second), Rest: 20 * time.Second, Why: "crashed: killed"}
	for _, tt := range []struct {
		name  string
		o     watch.Observed
		m     watch.Memory
		tick  bool
		why   string
		again time.Time
	}{
		{"nothing", watch.Observed{}, watch.Memory{}, false, "no wake is scheduled", patrol},
		{"could not look", watch.Observed{Problem: "no such file", Causes: all}, watch.Memory{}, false, "no such file", patrol},
		{"paused", watch.Observed{Paused: "fatal\nmore", Causes: all}, watch.Memory{}, false, "is paused: fatal", patrol},
		{"held", watch.Observed{Held: "process 7", Causes: all}, watch.Memory{}, false, "process 7", now.Add(time.Second)},
		{"a wake later", watch.Observed{NextWake: now.Add(time.Hour)}, watch.Memory{}, false, "sleeps until", patrol},
		{"a wake soon", watch.Observed{NextWake: now.Add(time.Second)}, watch.Memory{}, false, "sleeps until", now.Add(time.Second)},
		{"a trigger", watch.Observed{Causes: []plan.Cause{trigger}}, watch.Memory{}, true, "trigger 'by a person'", time.Time{}},
		{"a trigger without a reason", watch.Observed{Causes: []plan.Cause{{Kind: plan.ByTrigger}}}, watch.Memory{}, true, "trigger", time.Time{}},
		{"a notification wakes a sleeper", watch.Observed{Causes: []plan.Cause{note}}, watch.Memory{}, true, "a notification", time.Time{}},
		{"all in one tick", watch.Observed{Causes: all}, watch.Memory{}, true, "trigger 'by a person', wake 'tea', 2 notifications", time.Time{}},
		{"after a failure", watch.Observed{Causes: all}, failed, false, "the last 2 ticks failed (crashed: killed)", now.Add(19 * time.Second)},
		{"after the rest", watch.Observed{Causes: all}, watch.Memory{Failures: 2, Ended: now.Add(-20 * time.Second), Rest: 20 * time.Second}, true, "", time.Time{}},
		{"clock set back", watch.Observed{Causes: all}, watch.Memory{Failures: 9, Ended: now.Add(48 * time.Hour), Rest: time.Hour}, true, "", time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := watch.Decide(tt.o, tt.m, p, now)
			if d.Tick != tt.tick || !strings.Contains(d.Why, tt.why) || !d.Again.Equal(tt.again) {
				t.Errorf("%+v, want %v, %q, %v", d, tt.tick, tt.why, tt.again)
			}
			if d.Tick && !slices.Equal(d.Causes, tt.o.Causes) {
				t.Errorf("the tick gets %v of %v", d.Causes, tt.o.Causes)
			}
			if strings.Contains(d.Why, "\n") {
				t.Errorf("more than a line: %q", d.Why)
			}
		})
	}
}

func TestRests(t *testing.T) {
	p := watch.DefaultPolicy
	var m watch.Memory
	var rests []time.Duration
	for range 11 {
		m = m.After(plan.Outcome{Reason: plan.Crashed, Why: "w"}, p, now)
		rests = append(rests, m.Rest)
	}
	s := time.Second
	if want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s, 1280 * s, 2560 * s, time.Hour, time.Hour}; !slices.Equal(rests, want) {
		t.Errorf("%v, want %v", rests, want)
	}
	if got := m.After(plan.Outcome{Reason: plan.Interrupted}, p, now); got.Rest != 0 || got.Failures != 11 {
		t.Errorf("after an interrupt: %+v", got)
	}
	if got := m.After(plan.Outcome{Reason: plan.Normal}, p, now); got != (watch.Memory{Ended: now}) {
		t.Errorf("after a good tick: %+v", got)
	}
	if got := (watch.Memory{}).After(plan.Outcome{Reason: plan.Exhausted, Rest: 5 * time.Hour}, p, now); got.Rest != 5*time.Hour {
		t.Errorf("after the vendor asked for a rest: %+v", got)
	}
}

// Nothing is begun without a cause, while paused, while another ticks, or when
// the instance could not be read; a decision to wait always has an end.
func TestDecideLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(s string) string { return map[bool]string{true: s}[rng.IntN(3) == 0] }
	p := watch.DefaultPolicy
	for range 20_000 {
		at := now.Add(time.Duration(rng.Int64N(int64(100*time.Hour))) - 50*time.Hour)
		o := watch.Observed{Problem: one("p"), Paused: one("p"), Held: one("h")}
		if rng.IntN(2) == 0 {
			o.Causes = []plan.Cause{{Kind: plan.ByWake}}
		}
		if rng.IntN(2) == 0 {
			o.NextWake = now.Add(time.Duration(rng.Int64N(int64(time.Hour))))
		}
		m := watch.Memory{Failures: rng.IntN(9), Ended: now, Rest: time.Duration(rng.Int64N(int64(10 * time.Hour)))}
		d := watch.Decide(o, m, p, at)
		if d.Tick && (o.Problem != "" || o.Paused != "" || o.Held != "" || len(o.Causes) == 0) {
			t.Fatalf("%+v for %+v", d, o)
		}
		if !d.Tick && (d.Again.IsZero() || d.Again.Sub(at) > 10*time.Hour) {
			t.Fatalf("%+v for %+v, %+v at %v", d, o, m, at)
		}
	}
}
