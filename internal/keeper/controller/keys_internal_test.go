package controller

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"den/internal/keeper"
)

func TestAssignKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		kept  map[string]string // keys and the names they last had
		names []string
		want  map[string]string
	}{
		"new":                        {nil, []string{"a", "x/b"}, map[string]string{"a": "a", "x/b": "x/b"}},
		"kept":                       {map[string]string{"x/a": "x/a"}, []string{"x/a"}, map[string]string{"x/a": "x/a"}},
		"moved":                      {map[string]string{"x/a": "x/a"}, []string{"y/a"}, map[string]string{"y/a": "x/a"}},
		"moved twice":                {map[string]string{"x/a": "y/a"}, []string{"z/a"}, map[string]string{"z/a": "x/a"}},
		"moved to the top":           {map[string]string{"x/a": "x/a"}, []string{"a"}, map[string]string{"a": "x/a"}},
		"a second of the name":       {map[string]string{"x/a": "x/a"}, []string{"x/a", "y/a"}, map[string]string{"x/a": "x/a", "y/a": "y/a"}},
		"one of two moved":           {map[string]string{"x/a": "x/a", "y/a": "y/a"}, []string{"x/a", "z/a"}, map[string]string{"x/a": "x/a", "z/a": "y/a"}},
		"two moved: nobody can tell": {map[string]string{"x/a": "x/a", "y/a": "y/a"}, []string{"v/a", "w/a"}, map[string]string{"v/a": "v/a", "w/a": "w/a"}},
		"two for one that is gone":   {map[string]string{"x/a": "x/a"}, []string{"v/a", "w/a"}, map[string]string{"v/a": "v/a", "w/a": "w/a"}},
		"its old place taken":        {map[string]string{"x/a": "y/a"}, []string{"y/a", "x/a"}, map[string]string{"y/a": "x/a", "x/a": "x/a~2"}},
		"renamed":                    {map[string]string{"x/a": "x/a"}, []string{"x/b"}, map[string]string{"x/b": "x/b"}},
		"a pool's member":            {map[string]string{"x/p-1": "x/p-1", "x/p-2": "x/p-2"}, []string{"y/p-1", "y/p-2"}, map[string]string{"y/p-1": "x/p-1", "y/p-2": "x/p-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := assignKeys(tt.kept, tt.names); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// An agent that moves to another place under the same name ends where it was,
// with all that it left there, before it starts where it should be.
func TestAgentLeavesItsPlace(t *testing.T) {
	here, there := newPlace(), newPlace()
	c, _ := keep(t, t.TempDir(), here, member(here, "a", "1"))
	until(t, c, "a", is(keeper.Running))
	c.Apply([]Member{member(there, "a", "1")})
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	here.set(func() {
		if here.running["s-a"] != 0 {
			t.Error("it still runs where it was")
		}
	})
	there.set(func() {
		if there.running["s-a"] != 1 {
			t.Error("it does not run where it should")
		}
		there.fail = errors.New("it cannot start here any more")
	})
	there.die("s-a", 1)
	c.Ended("s-a")
	until(t, c, "a", func(s keeper.AgentStatus) bool { return s.Actual != keeper.Running })
	c.Apply([]Member{member(here, "a", "2")})
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	there.set(func() {
		if there.left["s-a"] {
			t.Error("what it left is still there")
		}
	})
	here.set(func() {
		if here.running["s-a"] != 1 {
			t.Error("it is not back")
		}
	})
}

// An agent that moves ends where it was before it starts where it should be,
// and what was ordered stays.
func TestMovedAgentIsTheSame(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	c, end := keep(t, dir, p, member(p, "x/a", "1"))
	until(t, c, "a", is(keeper.Running))
	c.Apply([]Member{member(p, "y/a", "1")})
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(func() {
		if p.running["s-x/a"] != 0 || p.running["s-y/a"] != 1 {
			t.Errorf("running: %v", p.running)
		}
	})
	if err := obey(t.Context(), c, "a", keeper.OrderStop); err != nil {
		t.Fatal(err)
	}
	c.Apply([]Member{member(p, "z/a", "1")})
	if s := until(t, c, "a", is(keeper.Stopped)); s.Name != "z/a" || s.Wanted != keeper.Stopped {
		t.Errorf("moved: %+v", s)
	}
	end()
	c, _ = keep(t, dir, p, member(p, "v/a", "1")) // moved while no keeper ran
	until(t, c, "a", is(keeper.Stopped))
	if got := types(t, c, "v/a"); len(got) != 0 {
		t.Errorf("events after the move: %v", got)
	}
	var all []string
	if err := c.Events(t.Context(), 0, "v/a", false, func(e keeper.Event) error { all = append(all, e.Agent); return nil }); err != nil {
		t.Fatal(err)
	}
	if all = slices.Compact(all); !slices.Equal(all, []string{"x/a", "y/a"}) {
		t.Errorf("its events are those of %v", all)
	}
}

// The end of an agent's session by the sweep, after a move while no keeper ran,
// is no failure of the agent.
func TestMoveWhileNoKeeperRunsIsNoFailure(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	c, end := keep(t, dir, p, member(p, "x/a", "1"))
	until(t, c, "a", is(keeper.Running))
	end()
	p.set(func() { p.running["s-x/a"] = 0 })
	c, _ = keep(t, dir, p, member(p, "y/a", "1"))
	if s := until(t, c, "a", is(keeper.Running)); s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
	if got := types(t, c, "y/a"); !slices.Equal(got, []string{keeper.EventStarting, keeper.EventStarted}) {
		t.Errorf("events %v", got)
	}
}
