package tick_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
)

// lodge changes where the agent lives.
func (w *world) lodge(change func(*tick.Lodging) error) {
	before := w.o.Lodge
	w.o.Lodge = func(c datarepo.Config) (tick.Lodging, error) {
		l, err := before(c)
		if err == nil {
			err = change(&l)
		}
		return l, err
	}
}

// An agent whose place cannot be made ready has no tick, and nothing is lost;
// one whose place is not as it should be is told when it logs in.
func TestPlaceIsPrepared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	var told string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		var err error
		if told, err = t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		if _, err := t.use("close", `{"tty":0}`); err != nil {
			return runner.Result{}, err
		}
		return t.say("done")
	}}
	var warning string
	var broken error
	w.lodge(func(l *tick.Lodging) error {
		l.Prepare = func(context.Context) (string, error) { return warning, broken }
		return nil
	})
	broken = fault.Hintf(fault.Errorf(fault.Unreachable, "there is no engine"), "start one")
	if err := w.o.Repo.RequestTick("a test"); err != nil {
		t.Fatal(err)
	}
	r := w.tick(plan.Unprepared, plan.Cause{Kind: plan.ByTrigger, Reason: "a test"})
	if r.Outcome.Why != "there is no engine (start one)" || r.Turns != 0 {
		t.Errorf("%+v", r)
	}
	if ran := w.read("notes/ran"); strings.Contains(ran, "pre-tick") || strings.Count(ran, "abnormal unprepared") != 3 {
		t.Errorf("hooks: %s", ran)
	}
	if w.read("system/tick_trigger") == "" {
		t.Error("the trigger is lost")
	}
	broken, warning = nil, "It is an old one."
	w.tick(plan.Normal)
	if !strings.Contains(told, warning) {
		t.Errorf("at login it was told %q", told)
	}
}

// Hooks run where the agent lives, and its mind does not.
func TestHooksRunWhereTheAgentLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("system/hooks/post-tick/10-a", "#!/bin/sh\necho \"$WHERE\" >\"$DATA_DIR/notes/where\"\n")
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	w.lodge(func(l *tick.Lodging) error {
		l.Hooks, l.Confined = local.Spawner{Mark: t.Name(), Env: append(os.Environ(), "WHERE=there")}, true
		return nil
	})
	var pushed, confined bool
	w.o.Push = func(_ context.Context, c bool) (told string, problem bool) {
		pushed, confined = true, c
		return "pushed", false
	}
	w.tick(plan.Normal)
	if got := w.read("notes/where"); got != "there\n" {
		t.Errorf("the hook ran in %q", got)
	}
	p, err := w.mind.opened[0].Spawn.Spawn(t.Context(), runner.Command{Argv: []string{"sh", "-c", `echo "[$WHERE]"`}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(p.Stdout()); err != nil || string(out) != "[]\n" {
		t.Errorf("the mind is in %q, %v", out, err)
	}
	p.Wait()
	if !pushed || !confined || !strings.Contains(w.logs.String(), "pushed") {
		t.Errorf("pushed: %v, as one of a confined agent: %v", pushed, confined)
	}
}

// lodgeOnlyHere has no place for an agent that wants to live elsewhere.
func (w *world) lodgeOnlyHere() {
	inner := w.o.Lodge
	w.o.Lodge = func(c datarepo.Config) (tick.Lodging, error) {
		if c.Container.Engine == datarepo.Podman {
			return tick.Lodging{}, fault.Errorf(fault.Usage, "no such place")
		}
		return inner(c)
	}
}

// A configuration that says nothing sensible of the place keeps ticks from
// beginning, and not from being completed.
func TestPlaceThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	w.tick(plan.Normal)
	if said := w.runChild(12); said != "" { // killed somewhere in the middle
		t.Fatal(said)
	}
	w.released()
	w.put("system/agent_config.json", `{"runner": "puppet", "container": {"engine": "podman"}}`)
	w.lodgeOnlyHere()
	if _, err := tick.Run(t.Context(), w.o, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("a tick began: %v", err)
	}
	if s, _, err := w.o.Dir.PeekTick(); err != nil || s.Tick != 2 || s.Stage != plan.Done {
		t.Errorf("the last tick: %d, %s, %v", s.Tick, s.Stage, err)
	}
	w.noSessions()
}
