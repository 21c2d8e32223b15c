package controller

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
)

// noticed calls back when somebody begins to wait for its end.
type noticed struct {
	context.Context
	waits func()
}

func (n noticed) Done() <-chan struct{} {
	n.waits()
	return n.Context.Done()
}

// Who waits for all agents is told of one that came up, and ended while another
// was waited for, with its status and its last lines.
func TestAwaitSeesAllAtOneMoment(t *testing.T) {
	early, late := newPlace(), newPlace()
	late.pulling, late.pulled = make(chan struct{}), make(chan struct{})
	a, b := member(early, "a", "1"), member(late, "b", "1")
	a.Policy.MaxRestarts, a.Policy.Quarantine, a.Policy.QuarantineMax = 1, time.Hour, time.Hour // it is given up at its first end
	c, _ := keep(t, t.TempDir(), early, a, b)
	until(t, c, "a", is(keeper.Running))
	<-late.pulling
	var once sync.Once
	err := c.Await(noticed{t.Context(), func() {
		once.Do(func() { // b is waited for
			early.die("s-a", 3)
			until(t, c, "a", is(keeper.Quarantined))
			close(late.pulled)
		})
	}})
	if fault.KindOf(err) != fault.NotRunning || !strings.Contains(err.Error(), "agent 'a': it failed too often (it ended with status 3)") {
		t.Errorf("%v", err)
	}
	if err != nil && !strings.HasSuffix(err.Error(), "\n  its last lines:\n    last words") {
		t.Errorf("without its last lines: %v", err)
	}
}

func TestLastLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"one\n\n  \n":                           "one",
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12": "3\n4\n5\n6\n7\n8\n9\n10\n11\n12",
		strings.Repeat("ä", 1500):               "…" + strings.Repeat("ä", 1000),
	} {
		if got := lastLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
