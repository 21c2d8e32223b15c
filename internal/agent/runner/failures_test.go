package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/runner"
)

// soon resumes a Runner whenever something failed, so that nobody waits.
func soon(t *testing.T, r *runner.Runner, h *heard, n int) []string {
	t.Helper()
	for i := range n {
		h.await(t, i+1)
		if err := r.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	return h.await(t, n)
}

// Attempts are counted by why they failed: many overloads and a crash are not
// too many crashes.
func TestAttemptsAreCountedByReason(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	attempt := 0 // the agent's own
	c.Driver = &puppet{turn: func(s *puppetSession, _ string, _ func(runner.Event)) (runner.Result, error) {
		attempt++
		switch {
		case attempt <= 5:
			return runner.Result{}, &runner.Failure{Class: runner.Overload, Message: "busy"}
		case attempt <= 8:
			return runner.Result{}, s.gone()
		}
		return runner.Result{Text: "never"}, nil
	}}
	r := start(t, c)
	send(t, r, "m", "x")
	got := soon(t, r, h, 8)
	want := slices.Concat(slices.Repeat([]string{"m~ overload: busy"}, 5), slices.Repeat([]string{"m~ gone: killed"}, 2), []string{"m! gone: killed"})
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Who waits for an agent that cannot be started again hears of it.
func TestFailedStartIsTold(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	c.Driver = &puppet{
		open: func(n int, _ string) error {
			switch n {
			case 2:
				return &runner.Failure{Class: runner.Auth, Message: "log in"}
			case 3:
				return errors.New("no such program")
			}
			return nil
		},
		turn: func(s *puppetSession, _ string, _ func(runner.Event)) (runner.Result, error) {
			if s.id == "session 1" && s.puppet.opens() == 1 {
				return runner.Result{}, s.gone()
			}
			return runner.Result{Text: "at last"}, nil
		},
	}
	r := start(t, c)
	send(t, r, "m", "x")
	got := soon(t, r, h, 4)
	if want := []string{"m~ gone: killed", "m~ auth: log in", "m~ bug: no such program", "m: at last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An agent that is left alone because it failed too often is told of, once.
func TestGivenUpIsTold(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	c.Breaker = runner.Breaker{Limit: 2, Window: time.Hour}
	c.Driver = &puppet{turn: func(*puppetSession, string, func(runner.Event)) (runner.Result, error) {
		return runner.Result{}, &runner.Failure{Class: runner.Bug, Message: "broken"}
	}}
	r := start(t, c)
	for _, id := range []string{"a", "b", "c"} {
		send(t, r, id, "x")
	}
	h.await(t, 2)
	for r.CircuitSince().IsZero() {
		<-h.change
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.gaveUp, []string{"bug: broken"}) || strings.Contains(strings.Join(h.ended, "|"), "c!") {
		t.Errorf("%q after %q", h.gaveUp, h.ended)
	}
}
