package dend

import (
	"testing"

	"den/internal/keeper"
)

// An agent in another directory is still that agent: its queued nudges and its
// user's order are there, in the same keeper and in the next.
func TestMovedAgentKeepsNudgesAndOrders(t *testing.T) {
	in := func(dir string) string {
		return "[[agents]]\nname = \"a\"\ndir = \"" + dir + "\"\nstart_command = \"cat\"\n[[agents]]\nname = \"b\"\nstart_command = \"cat\"\n"
	}
	root := t.TempDir()
	d := plannedIn(t, root, in("x"))
	m, err := d.find("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.nudge(t.Context(), m, "", "hello", false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.order(t.Context(), keeper.Agent{Name: "a", Order: keeper.OrderStop}); err != nil {
		t.Fatal(err)
	}
	check := func(d *daemon, name string) {
		t.Helper()
		if names(d) != "b" || len(d.ps(name).Agents) != 1 {
			t.Errorf("%s are wanted, of %+v", names(d), d.ps("").Agents)
		}
		kept, err := d.nudgesOf(name)
		if err != nil || len(kept.Nudges) != 1 || kept.Nudges[0].Text != "hello" || kept.Nudges[0].Agent != name {
			t.Errorf("nudges of %s: %+v, %v", name, kept, err)
		}
	}
	check(d, "x/a")
	rewrite(t, d, in("y"))
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	check(d, "y/a")
	if err := d.controller.Close(); err != nil {
		t.Fatal(err)
	}
	check(plannedIn(t, root, in("z")), "z/a")
}
