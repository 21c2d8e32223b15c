package daemon

import (
	"slices"
	"testing"

	"den/internal/agent/conversation"
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
	if _, err := d.nudge(t.Context(), m, keeper.Agent{Text: "hello"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.order(t.Context(), keeper.Agent{Name: "a", Order: keeper.OrderStop}, nil); err != nil {
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

// What happened to an agent before and after it moved is found under its name
// of now, by its keeper and without one: also the changes of its state.
func TestMovedAgentKeepsEvents(t *testing.T) {
	in := func(dir string) string {
		return "[[agents]]\nname = \"a\"\ndir = \"" + dir + "\"\nstart_command = \"cat\"\n[[agents]]\nname = \"b\"\nstart_command = \"cat\"\n"
	}
	d := planned(t, in("x"))
	tell := func(name string, activity conversation.Activity) {
		t.Helper()
		m, err := d.find(name)
		if err != nil {
			t.Fatal(err)
		}
		d.tellState(m.Name(), m.Key(), true, m.notes)(conversation.State{Activity: activity})
	}
	tell("b", conversation.Busy)
	tell("a", conversation.Busy)
	for _, dir := range []string{"y", "z"} {
		rewrite(t, d, in(dir))
		if err := d.load(false); err != nil {
			t.Fatal(err)
		}
		tell("a", conversation.Ready)
	}
	for who, read := range map[string]func(each func(keeper.Event) error) error{
		"the keeper": func(each func(keeper.Event) error) error {
			return d.controller.Events(t.Context(), 0, "z/a", false, each)
		},
		"its files": func(each func(keeper.Event) error) error {
			return keeper.ReadEvents(d.state, keeper.EventsFrom{Agent: "z/a"}, each)
		},
	} {
		var told []string
		err := read(func(e keeper.Event) error {
			if e.Type == keeper.EventState {
				told = append(told, e.Agent+" "+e.Why)
			}
			return nil
		})
		if want := []string{"x/a busy", "y/a ready", "z/a ready"}; err != nil || !slices.Equal(told, want) {
			t.Errorf("%s tells %q, %v; want %q", who, told, err, want)
		}
	}
}
