package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/agent/conversation/outbox"
	"den/internal/agent/runner"
)

// whereAmI is an agent that says in which session it is.
func whereAmI(s *puppetSession, prompt string, _ func(runner.Event)) (runner.Result, error) {
	return runner.Result{Text: s.id}, nil
}

func send(t *testing.T, r *runner.Runner, id, text string) {
	t.Helper()
	if _, err := r.SendPrompt(runner.Prompt{ID: id, Text: text, Route: "r"}); err != nil {
		t.Fatal(err)
	}
}

// An agent clears its conversation from within a turn: the turn keeps its
// session, and the next has another.
func TestClearWithinATurn(t *testing.T) {
	h, dir := newHeard(), t.TempDir()
	c := config(t, dir, "", h)
	var r *runner.Runner
	c.Driver = &puppet{turn: func(s *puppetSession, prompt string, each func(runner.Event)) (runner.Result, error) {
		if prompt == "clear" {
			if err := r.Clear(); err != nil {
				return runner.Result{}, err
			}
			if data, err := os.ReadFile(filepath.Join(dir, "runner.json")); err != nil || !strings.Contains(string(data), `"clear"`) {
				t.Errorf("on disk: %s, %v", data, err)
			}
		}
		return whereAmI(s, prompt, each)
	}}
	r = start(t, c)
	for i, prompt := range []string{"hello", "clear", "hello", "hello"} {
		send(t, r, string(rune('a'+i)), prompt)
	}
	if got := strings.Join(h.await(t, 4), "|"); got != "a: session 1|b: session 1|c: session 2|d: session 2" {
		t.Errorf("%q", got)
	}
}

// A Clear that nobody was there to do is done at the next start.
func TestClearOverARestart(t *testing.T) {
	h, dir := newHeard(), t.TempDir()
	c := config(t, dir, "", h)
	p := &puppet{turn: whereAmI}
	c.Driver = p
	r := start(t, c)
	send(t, r, "a", "hello")
	h.await(t, 1)
	r.Stop()
	if err := r.Clear(); err != nil {
		t.Fatal(err)
	}
	again := start(t, c)
	send(t, again, "b", "hello")
	if got := strings.Join(h.await(t, 2), "|"); got != "a: session 1|b: session 2" {
		t.Errorf("%q", got)
	}
}

// A Clear that comes just when a turn begins does not take its session away.
func TestClearWhenATurnBegins(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	c.Driver = &puppet{turn: whereAmI}
	var r *runner.Runner
	var armed atomic.Bool
	c.Clock = func() time.Time {
		// The turn has begun on disk, and asks what time it is.
		if armed.Load() {
			if m, err := r.Message("b"); err == nil && m.Status == outbox.Sending && armed.CompareAndSwap(true, false) {
				if err := r.Clear(); err != nil {
					t.Error(err)
				}
			}
		}
		return time.Now()
	}
	r = start(t, c)
	send(t, r, "a", "hello")
	h.await(t, 1)
	armed.Store(true)
	send(t, r, "b", "hello")
	h.await(t, 2)
	send(t, r, "c", "hello")
	if got := strings.Join(h.await(t, 3), "|"); armed.Load() || got != "a: session 1|b: session 1|c: session 2" {
		t.Errorf("armed %v, %q", armed.Load(), got)
	}
}
