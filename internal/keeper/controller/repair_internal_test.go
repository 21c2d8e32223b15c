package controller

import (
	"errors"
	"slices"
	"testing"

	"den/internal/keeper"
)

// Who mends what failed does not wait for the end of its quarantine.
func TestChangedAgentIsForgiven(t *testing.T) {
	p := newPlace()
	p.fail = errors.New("no such command")
	broken := member(p, "a", "broken")
	broken.Policy.Quarantine, broken.Policy.QuarantineMax = DefaultPolicy.Quarantine, DefaultPolicy.QuarantineMax
	c, _ := keep(t, t.TempDir(), p, broken)
	until(t, c, "a", is(keeper.Quarantined))
	p.set(func() { p.fail = nil })
	mended := member(p, "a", "mended")
	mended.Policy = broken.Policy
	c.Apply([]Member{mended})
	until(t, c, "a", is(keeper.Running))
}

// An agent that ended by itself may have left something behind: it goes when
// the agent is not wanted any more, and not before, for somebody may look.
func TestLeftoversAreEnded(t *testing.T) {
	p := newPlace()
	a := member(p, "a", "1")
	a.Policy.MaxRestarts, a.Policy.Quarantine, a.Policy.QuarantineMax = 1, DefaultPolicy.Quarantine, DefaultPolicy.QuarantineMax
	c, _ := keep(t, t.TempDir(), p, a)
	until(t, c, "a", is(keeper.Running))
	p.die("s-a", 3)
	until(t, c, "a", is(keeper.Quarantined))
	p.set(func() {
		if !p.left["s-a"] {
			t.Error("what it left was ended while it may be looked at")
		}
	})
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(func() {
		if p.left["s-a"] {
			t.Error("what it left is still there after down")
		}
	})
}

// An order that comes while the keeper writes down how the agent ended holds.
func TestOrderDuringForensics(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	ordered := make(chan error, 1)
	p.set(func() {
		p.peeked = func() {
			p.set(func() { p.peeked = nil })
			_, err := c.Order("a", keeper.OrderStop)
			ordered <- err
		}
	})
	p.die("s-a", 1)
	if err := <-ordered; err != nil {
		t.Fatal(err)
	}
	until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Wanted == keeper.Stopped && s.Actual == keeper.Stopped })
	if got := types(t, c, "a"); slices.Contains(got[len(got)-1:], keeper.EventStarted) {
		t.Errorf("it was started after the order: %v", got)
	}
	w, err := c.find("a")
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.memory.Order != keeper.OrderStop {
		t.Errorf("the order was forgotten: %+v", w.memory)
	}
}
