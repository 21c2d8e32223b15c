package controller

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
)

func TestComesUpAndGoesDown(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"), member(p, "b", "1"))
	until(t, c, "a", is(keeper.Running))
	until(t, c, "b", is(keeper.Running))
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(func() {
		if p.running["s-a"] != 0 || p.running["s-b"] != 0 {
			t.Errorf("left: %v", p.running)
		}
		if p.seen["s-a"] != 1 || p.seen["s-b"] != 1 {
			t.Errorf("their ends are news: %v", p.seen)
		}
	})
	want := []string{keeper.EventStarting, keeper.EventStarted, keeper.EventStopping, keeper.EventStopped}
	if got := types(t, c, "a"); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// A file that changes while the workspace goes down brings nobody back.
func TestDownIsFinal(t *testing.T) {
	p := newPlace()
	members := []Member{member(p, "a", "1"), member(p, "b", "1")}
	c, _ := keep(t, t.TempDir(), p, members...)
	until(t, c, "a", is(keeper.Running))
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.started()
	c.Apply(append(members, member(p, "c", "1")))
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.started() != before {
		t.Errorf("%d starts after down", p.started()-before)
	}
}

// The workspace goes down while the worker of a removed agent leaves: nobody
// waits for a worker that has left.
func TestDownDoesNotWaitForARemovedAgent(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p)
	m := member(p, "a", "1")
	m.Gone, m.Run = true, false
	w := newWorker(c, m)
	w.asked = w.answered + 1 // Down has come, and the worker has not looked yet
	done := make(chan error, 1)
	go func() { done <- w.await(t.Context()) }()
	if !c.forget(w) {
		t.Fatal("an agent that is gone is not forgotten")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An agent that comes back while its worker leaves is kept.
func TestForgetKeepsAnAgentThatIsWantedAgain(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p)
	w := newWorker(c, member(p, "a", "1"))
	if c.forget(w) {
		t.Error("an agent that the workspace has was forgotten")
	}
}

func TestAnEndIsSeenWhenItHappens(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1")) // its patrol is half a minute
	until(t, c, "a", is(keeper.Running))
	p.die("s-a", 3)
	s := until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Restarts == 1 && s.Actual == keeper.Running })
	if s.ExitCode != nil {
		t.Errorf("a running agent has an exit code: %+v", s)
	}
	found := false
	c.Events(t.Context(), 0, "a", false, func(e keeper.Event) error {
		if e.Type == keeper.EventExited {
			found = e.Detail["exit_code"] == 3.0 && e.Detail["screen"] == "last words"
		}
		return nil
	})
	if p.set(func() { found = found && p.seen["s-a"] == 0 }); !found { // nobody wanted it
		t.Error("no event tells how it ended, or it was taken for seen")
	}
}

// What its place ended is started again, however often, and is no failure of the
// agent.
func TestAnEndByThePlaceIsNoFailure(t *testing.T) {
	p := newPlace()
	p.ended = "evicted: the node was low on memory"
	m := member(p, "a", "1")
	c, _ := keep(t, t.TempDir(), p, m)
	until(t, c, "a", is(keeper.Running))
	for i := range 2 * m.Policy.MaxRestarts {
		p.die("s-a", 143)
		until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Restarts == i+1 && s.Actual == keeper.Running })
	}
	told := false
	c.Events(t.Context(), 0, "a", false, func(e keeper.Event) error {
		told = told || e.Type == keeper.EventExited && e.Detail["place"] == p.ended
		return nil
	})
	if !told {
		t.Error("no event tells why it ended")
	}
}

// Of whatever kind the failure is: also where something else than the agent is
// busy, as the branch of its worktree.
func TestCrashLoopIsQuarantinedAndRecovers(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Usage, fault.Busy, fault.NotFound, fault.Denied} {
		t.Run(string(kind), func(t *testing.T) { crashLoop(t, kind) })
	}
}

func crashLoop(t *testing.T, kind fault.Kind) {
	dir, p := t.TempDir(), newPlace()
	p.fail = fault.Errorf(kind, "no such command")
	slow := member(p, "a", "1")
	slow.Policy.Quarantine, slow.Policy.QuarantineMax = time.Hour, time.Hour
	c, end := keep(t, dir, p, slow)
	until(t, c, "a", is(keeper.Quarantined))
	if p.started() != slow.Policy.MaxRestarts {
		t.Errorf("%d starts before the quarantine, want %d", p.started(), slow.Policy.MaxRestarts)
	}
	// The next keeper knows.
	end()
	c, _ = keep(t, dir, p, slow)
	until(t, c, "a", is(keeper.Quarantined))
	if p.started() != slow.Policy.MaxRestarts {
		t.Errorf("the next keeper started it: %d", p.started())
	}
	// A start that works after a reset forgives.
	p.set(func() { p.fail = nil })
	if err := obey(t.Context(), c, "a", keeper.OrderReset); err != nil {
		t.Fatal(err)
	}
	until(t, c, "a", is(keeper.Running))
}

func TestHalfOpen(t *testing.T) {
	p := newPlace()
	p.fail = fault.Errorf(fault.Usage, "no such command")
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Quarantined))
	p.set(func() { p.fail = nil })
	until(t, c, "a", is(keeper.Running)) // by itself
}

func TestNeverTwo(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	for range 20 { // keepers that die at any moment
		c, end := keep(t, dir, p, member(p, "a", "1"), member(p, "b", "1"))
		c.Refresh()
		end()
	}
	c, _ := keep(t, dir, p, member(p, "a", "1"), member(p, "b", "1"))
	until(t, c, "a", is(keeper.Running))
	until(t, c, "b", is(keeper.Running))
	p.set(func() {
		if p.most > 1 {
			t.Errorf("%d copies of one agent ran", p.most)
		}
	})
}

func TestCouldNotAskStartsNothing(t *testing.T) {
	p := newPlace()
	p.blind = errBlind
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	s := until(t, c, "a", is(keeper.Unknown))
	for !strings.Contains(s.Why, "no answer") {
		s = until(t, c, "a", func(s keeper.AgentStatus) bool { return strings.Contains(s.Why, "no answer") })
	}
	if p.started() != 0 {
		t.Errorf("it was started %d times", p.started())
	}
	p.set(func() { p.blind = nil })
	c.Refresh()
	until(t, c, "a", is(keeper.Running))
}

func TestDriftWaitsForAPerson(t *testing.T) {
	p := newPlace()
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	p.set(func() { p.held = "a person is attached" })
	c.Apply([]Member{member(p, "a", "2")})
	until(t, c, "a", func(s keeper.AgentStatus) bool { return strings.Contains(s.Why, "a person is attached") })
	p.set(func() {
		if p.print["s-a"] != "1" {
			t.Error("it was restarted under a person")
		}
	})
	p.set(func() { p.held = "" })
	c.Refresh()
	until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Actual == keeper.Running && s.Why == "runs" })
	p.set(func() {
		if p.print["s-a"] != "2" {
			t.Errorf("it runs as %q", p.print["s-a"])
		}
	})
	if got := types(t, c, "a"); !slices.Contains(got, keeper.EventDeferred) {
		t.Errorf("events %v", got)
	}
}

func TestRemovedAgentDrainsAndIsForgotten(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	m := member(p, "a", "1")
	m.Policy.DrainTimeout = time.Hour
	c, _ := keep(t, dir, p, m, member(p, "b", "1"))
	until(t, c, "a", is(keeper.Running))
	c.Apply([]Member{member(p, "b", "1")})
	until(t, c, "a", func(s keeper.AgentStatus) bool { return strings.Contains(s.Why, "may finish first") })
	p.set(func() { p.drained = true })
	c.Refresh()
	for end := time.Now().Add(2 * time.Minute); len(c.Status()) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still there: %+v", c.Status())
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil || strings.Contains(string(raw), `"a"`) {
		t.Errorf("state: %s, %v", raw, err)
	}
}

func TestOrders(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	c, end := keep(t, dir, p, member(p, "a", "1"), member(p, "b", "1"))
	order := func(name, order string) {
		t.Helper()
		if err := obey(t.Context(), c, name, order); err != nil {
			t.Fatal(err)
		}
	}
	until(t, c, "a", is(keeper.Running))
	order("a", keeper.OrderStop)
	end()
	c, _ = keep(t, dir, p, member(p, "a", "1"), member(p, "b", "1")) // the order holds
	if s := until(t, c, "a", is(keeper.Stopped)); s.Wanted != keeper.Stopped {
		t.Errorf("%+v", s)
	}
	order("a", keeper.OrderStart)
	before := p.started()
	order("a", keeper.OrderRestart)
	if p.started() != before+1 {
		t.Errorf("%d starts for one restart", p.started()-before)
	}
	order("", keeper.OrderSuspend)
	for _, s := range c.Status() {
		if s.Wanted != keeper.Suspended || s.Actual != keeper.Stopped {
			t.Errorf("suspended workspace: %+v", s)
		}
	}
	order("", keeper.OrderResume)
	for _, s := range c.Status() {
		if s.Actual != keeper.Running {
			t.Errorf("resumed workspace: %+v", s)
		}
	}
	if _, err := c.Order("nobody", keeper.OrderStart); fault.KindOf(err) != fault.NotFound {
		t.Errorf("unknown agent: %v", err)
	}
	if _, err := c.Order("a", "dance"); fault.KindOf(err) != fault.Usage {
		t.Errorf("unknown order: %v", err)
	}
}

func TestDependencies(t *testing.T) {
	p := newPlace()
	second := member(p, "second", "1")
	second.After = []string{"first"}
	p.fail = fault.Errorf(fault.Usage, "not yet")
	first := member(p, "first", "1")
	first.Policy.MaxRestarts = 1000
	c, _ := keep(t, t.TempDir(), p, first, second)
	until(t, c, "second", func(s keeper.AgentStatus) bool { return s.Why == "waits for first" })
	p.set(func() { p.fail = nil })
	until(t, c, "second", is(keeper.Running))
}

func TestDeafAgentIsEndedByForce(t *testing.T) {
	p := newPlace()
	p.deaf = true
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestEventsAreNumberedWithoutAGap(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	c, end := keep(t, dir, p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	end()
	// A keeper that dies in the middle of a line.
	f, err := os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"seq":99,"ty`)
	f.Close()
	c, _ = keep(t, dir, p, member(p, "a", "1"))
	p.die("s-a", 1)
	until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Restarts == 1 && s.Actual == keeper.Running })
	types(t, c, "a") // checks the numbers

	// Who follows misses nothing.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	saw := make(chan keeper.Event, 100)
	go c.Events(ctx, 0, "", true, func(e keeper.Event) error { saw <- e; return nil })
	c.Event(keeper.Event{Type: "test.last"})
	for next := uint64(1); ; next++ {
		select {
		case e := <-saw:
			if e.Seq != next {
				t.Fatalf("event %d, want %d", e.Seq, next)
			}
			if e.Type == "test.last" {
				return
			}
		case <-ctx.Done():
			t.Fatal("the last event did not come")
		}
	}
}

// A start is ended by whoever does not want it any more, and is no failure.
func TestStartIsCancelled(t *testing.T) {
	for name, end := range map[string]func(context.Context, *Controller) error{
		"stop": func(ctx context.Context, c *Controller) error { return obey(ctx, c, "a", keeper.OrderStop) },
		"down": func(ctx context.Context, c *Controller) error { return c.Down(ctx) },
		"gone": func(ctx context.Context, c *Controller) error { c.Apply(nil); return c.Await(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace()
			p.hang = make(chan struct{})
			c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
			<-p.hang
			if err := end(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			got := types(t, c, "a")
			if !slices.Contains(got, keeper.EventStartCancelled) || slices.Contains(got, keeper.EventStartFailed) {
				t.Errorf("events %v", got)
			}
		})
	}
}

// A start that the keeper before did not finish is finished, not taken for
// done.
func TestCutOffStartIsFinished(t *testing.T) {
	p := newPlace()
	p.running["s-a"], p.print["s-a"], p.partial = 1, "1", map[string]bool{"s-a": true}
	c, _ := keep(t, t.TempDir(), p, member(p, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	if p.started() != 1 || p.most > 1 {
		t.Errorf("%d starts, %d at a time", p.started(), p.most)
	}
	if got := types(t, c, "a"); !slices.Equal(got, []string{keeper.EventStarting, keeper.EventStarted}) {
		t.Errorf("events %v", got)
	}
}
