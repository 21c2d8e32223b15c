package controller

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"den/internal/keeper"
)

// glancer is a place that is glanced at.
type glancer struct {
	mu   sync.Mutex
	seen map[string]Seen
	done chan struct{} // receives after each glance was answered
}

func (g *glancer) glance(ctx context.Context) map[string]Seen {
	select {
	case g.done <- struct{}{}:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

func (g *glancer) tell(s Seen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = map[string]Seen{"a": s}
}

// An agent that a glance at all finds as it should be is not asked alone; one
// that it does not is looked at, and so is one that it cannot tell of.
func TestPatrolGlances(t *testing.T) {
	p, g := newPlace(), &glancer{done: make(chan struct{})}
	dir, now := t.TempDir(), time.Now()
	c, err := Open(Options{
		State: filepath.Join(dir, "state.json"), Events: filepath.Join(dir, "events.jsonl"), Glance: g.glance,
		Clock: func() time.Time { return now }, // no glance is ever old
	})
	if err != nil {
		t.Fatal(err)
	}
	m := member(p, "a", "1")
	m.Policy.Patrol = time.Millisecond
	c.Apply([]Member{m})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	defer func() {
		cancel()
		<-done
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	until(t, c, "a", is(keeper.Running))
	glances := func(n int) {
		for range n {
			<-g.done
		}
	}
	looks := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.looks
	}
	looked := func() {
		t.Helper()
		for before := looks(); looks() == before; { // the test's own deadline bounds it
			glances(1)
		}
	}
	glances(3)
	looked() // it was not named
	g.tell(Seen{Running: true})
	w, err := c.find("a")
	if err != nil {
		t.Fatal(err)
	}
	for !w.isFine() {
		glances(1)
	}
	glances(2) // what was under way is over
	before := looks()
	glances(50)
	if after := looks(); after != before {
		t.Errorf("it was asked %d times", after-before)
	}
	for _, s := range []Seen{{}, {Running: true, Closer: true}} { // it does not run, it may drift
		g.tell(s)
		looked()
		g.tell(Seen{Running: true})
	}
}
