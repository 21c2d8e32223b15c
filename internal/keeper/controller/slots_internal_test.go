package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
)

// A change of all agents restarts so many at a time as the workspace allows.
func TestReplacesSoManyAtATime(t *testing.T) {
	const agents, limit = 6, 2
	p := newPlace()
	plan := func(print string) (members []Member) {
		for i := range agents {
			m := member(p, fmt.Sprintf("a%d", i), print)
			m.Policy.MaxReplacing = limit
			members = append(members, m)
		}
		return members
	}
	c, _ := keep(t, t.TempDir(), p, plan("1")...)
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.pulling, p.pulled = make(chan struct{}), make(chan struct{}) })
	c.Apply(plan("2"))
	for range limit {
		<-p.pulling
	}
	for left := agents; left > 0; left-- {
		waiting, queue := 0, max(0, left-limit)
		for end := time.Now().Add(2 * time.Minute); waiting != queue; time.Sleep(time.Millisecond) {
			if waiting = 0; time.Now().After(end) {
				t.Fatalf("%d are left, and not %d of them wait for a slot: %+v", left, queue, c.Status())
			}
			for _, s := range c.Status() {
				if s.Actual == keeper.Running && strings.Contains(s.Why, "others are replaced first, 2 at a time") {
					waiting++
				}
			}
		}
		p.pulled <- struct{}{} // one runs again
		if queue > 0 {
			<-p.pulling // and the next one is replaced
		}
	}
	for i := range agents {
		until(t, c, fmt.Sprintf("a%d", i), func(s keeper.AgentStatus) bool { return s.Why == "runs" })
	}
	p.set(func() {
		for session, print := range p.print {
			if print != "2" {
				t.Errorf("%s runs as %q", session, print)
			}
		}
	})
}
