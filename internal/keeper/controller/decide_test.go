package controller

import (
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
)

func TestDecide(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	p := DefaultPolicy
	p.DrainTimeout = time.Minute
	p.IdleTimeout = time.Hour
	p.StallTimeout = 10 * time.Minute
	run := desired{run: true}
	up := observed{known: true, running: true, lastWrite: ago(time.Second), ready: true}
	down := observed{known: true}
	changed := func(s observed, f func(*observed)) observed { f(&s); return s }
	began := memory{Up: true, Started: ago(2 * time.Hour)}
	for _, tt := range []struct {
		name   string
		w      desired
		s      observed
		m      memory
		do     action
		actual string
		why    string
		again  time.Time
	}{
		{"could not ask, wanted", run, observed{problem: "no answer"}, memory{}, rest, keeper.Unknown, "no answer", now.Add(p.Patrol)},
		{"could not ask, not wanted", desired{}, observed{problem: "x"}, memory{Up: true}, rest, keeper.Unknown, "", now.Add(p.Patrol)},
		{"first start", run, down, memory{}, start, keeper.Starting, "is wanted", time.Time{}},
		{"waits for another", desired{run: true, waitsFor: "db"}, down, memory{}, rest, keeper.Stopped, "waits for db", time.Time{}},
		{"backs off", run, down, memory{Failures: 3, NotBefore: now.Add(time.Second)}, rest, keeper.Starting, "failed 3 times", now.Add(time.Second)},
		{"tries again", run, down, memory{Failures: 3, NotBefore: now}, start, keeper.Starting, "", time.Time{}},
		{"in quarantine", run, down, memory{QuarantinedUntil: now.Add(time.Minute), Quarantines: 1}, rest, keeper.Quarantined, "too often", now.Add(time.Minute)},
		{"half open", run, down, memory{QuarantinedUntil: now, Quarantines: 1}, start, keeper.Starting, "after its quarantine", time.Time{}},
		{"finished", run, down, memory{Finished: "id", ExitCode: new(int)}, rest, keeper.Finished, "it ended with status 0, and restart.policy is always", time.Time{}},
		{"finished, leftovers", run, down, memory{Finished: "id", Left: true}, clean, keeper.Stopping, "it ended", time.Time{}},
		{"finished, not wanted", desired{why: "was stopped by hand"}, down, memory{Finished: "id"}, rest, keeper.Stopped, "by hand", time.Time{}},
		{"stopped", desired{why: "was stopped by hand"}, down, memory{}, rest, keeper.Stopped, "by hand", time.Time{}},
		{"runs", run, up, began, rest, keeper.Running, "runs", ago(time.Second).Add(time.Hour)},
		{"stop at once", desired{why: "was stopped by hand"}, up, began, stop, keeper.Stopping, "by hand", time.Time{}},
		{"stop gently", desired{why: "gone", gently: true}, up, began, drain, keeper.Stopping, "gone", time.Time{}},
		{"drains", desired{why: "gone", gently: true}, up, memory{Up: true, Drain: &drainMemory{Since: ago(time.Second)}}, rest, keeper.Stopping, "may finish", now.Add(drainPoll)},
		{"drained", desired{gently: true}, changed(up, func(s *observed) { s.drained = true }), memory{Drain: &drainMemory{Since: ago(time.Second)}}, stop, keeper.Stopping, "has finished", time.Time{}},
		{"drain's deadline", desired{gently: true}, up, memory{Drain: &drainMemory{Since: ago(time.Minute)}}, stop, keeper.Stopping, "did not finish", time.Time{}},
		{"wanted again while draining", run, up, memory{Up: true, Drain: &drainMemory{Since: ago(time.Second)}}, undrain, keeper.Running, "", time.Time{}},
		{"drift", run, changed(up, func(s *observed) { s.drift = []string{"env"} }), began, drain, keeper.Stopping, "env", time.Time{}},
		{"drift, a person is there", run, changed(up, func(s *observed) { s.drift, s.held = []string{"env"}, "a person is attached" }), began, rest, keeper.Running, "a person is attached", now.Add(p.Patrol)},
		{"restart asked", run, up, memory{Up: true, RestartAsked: true}, stop, keeper.Stopping, "asked for", time.Time{}},
		{"idle", run, changed(up, func(s *observed) { s.lastWrite = ago(time.Hour) }), began, stop, keeper.Stopping, "idle for 1h", time.Time{}},
		{"idle, a person is there", run, changed(up, func(s *observed) { s.lastWrite, s.held = ago(time.Hour), "somebody looks" }), began, rest, keeper.Running, "runs", time.Time{}},
		{"stalls", run, changed(up, func(s *observed) { s.lastWrite, s.ready = ago(11*time.Minute), false }), began, report, keeper.Running, "stalls", time.Time{}},
		{"stalls, was told", run, changed(up, func(s *observed) { s.lastWrite, s.ready = ago(11*time.Minute), false }), memory{Up: true, Started: ago(time.Hour), Stalled: true}, rest, keeper.Running, "stalls", time.Time{}},
		{"silent but ready", run, changed(up, func(s *observed) { s.lastWrite = ago(30 * time.Minute) }), began, rest, keeper.Running, "runs", time.Time{}},
		{"fresh start is not idle", run, changed(up, func(s *observed) { s.lastWrite = time.Time{} }), memory{Up: true, Started: ago(time.Minute)}, rest, keeper.Running, "runs", time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := decide(tt.w, tt.s, tt.m, p, now)
			if v.do != tt.do || v.actual != tt.actual || !strings.Contains(v.why, tt.why) {
				t.Errorf("%+v, want %s, %s, %q", v, tt.do, tt.actual, tt.why)
			}
			if !tt.again.IsZero() && !v.again.Equal(tt.again) {
				t.Errorf("again at %v, want %v", v.again, tt.again)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	p := DefaultPolicy
	p.MaxRestarts = 4
	now := time.Unix(1_800_000_000, 0)
	var m memory
	var delays []time.Duration
	for !m.failed("x", "", p, now, 1) {
		delays = append(delays, m.NotBefore.Sub(now))
		now = m.NotBefore
	}
	if want := []time.Duration{0, time.Second, 2 * time.Second}; len(delays) != len(want) || delays[0] != want[0] || delays[1] != want[1] || delays[2] != want[2] {
		t.Errorf("delays %v, want %v", delays, want)
	}
	if got := m.QuarantinedUntil.Sub(now); got != p.Quarantine {
		t.Errorf("first quarantine %v", got)
	}
	// Half open: one failure is enough, and the next lasts longer.
	now = m.QuarantinedUntil
	if !m.failed("x", "", p, now, 1) || m.QuarantinedUntil.Sub(now) != 2*p.Quarantine {
		t.Errorf("after the trial: %+v", m)
	}
	m.forgive()
	if m.failed("x", "", p, now, 1) || m.Trial() {
		t.Errorf("a forgiven agent is in quarantine: %+v", m)
	}
	// Failures that are far apart never add up.
	m = memory{}
	for range 20 {
		if m.failed("x", "", p, now, 0.5) {
			t.Fatal("quarantine for failures outside the window")
		}
		m.Failures = 0
		now = now.Add(p.Window)
	}
}

func TestDelayIsBounded(t *testing.T) {
	p := DefaultPolicy
	for n := range 200 {
		for _, j := range []float64{0, 0.5, 1} {
			if d := p.delay(n, j); d < 0 || d > p.BackoffMax {
				t.Fatalf("delay after %d failures: %v", n, d)
			}
		}
		if q := p.quarantine(n); q < p.Quarantine || q > p.QuarantineMax {
			t.Fatalf("quarantine %d: %v", n, q)
		}
	}
}

func TestRestartPolicyFinal(t *testing.T) {
	zero, three := 0, 3
	for _, tt := range []struct {
		policy Restart
		code   *int
		final  bool
	}{
		{Always, &zero, false}, {Always, &three, false}, {Always, nil, false},
		{OnFailure, &zero, true}, {OnFailure, &three, false}, {OnFailure, nil, false},
		{Never, &zero, true}, {Never, &three, true}, {Never, nil, true},
	} {
		if got := tt.policy.final(tt.code); got != tt.final {
			t.Errorf("%s after %s: final %v, want %v", tt.policy, ending(tt.code), got, tt.final)
		}
	}
}

// An agent that stalls again and again is not restarted at once for ever: its
// failures are forgiven only when it has outlived the time in which it stalled.
func TestStallsBackOff(t *testing.T) {
	p := DefaultPolicy
	p.StallTimeout, p.StallRestart = time.Minute, true
	now := time.Unix(1e9, 0)
	m := memory{Started: now.Add(-time.Minute)}
	if d := decide(desired{run: true}, observed{known: true, running: true}, m, p, now); d.do != stop || !d.stalled {
		t.Fatalf("%+v", d)
	}
	m.failed("it stalled", "id", p, now, 1)
	m.failed("it stalled", "id", p, now, 1)
	m.FailedByStall = true
	if d := decide(desired{run: true}, observed{known: true}, m, p, now); d.do != rest || !d.again.Equal(now.Add(p.Backoff)) {
		t.Errorf("after the second stall: %+v", d)
	}
	if got := p.stableAfter(m); got != p.StableAfter+p.StallTimeout {
		t.Errorf("forgiven after %v", got)
	}
	m.failed("it ended", "id", p, now, 1)
	if got := p.stableAfter(m); got != p.StableAfter {
		t.Errorf("after another failure forgiven after %v", got)
	}
}
