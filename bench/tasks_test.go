package main

import (
	"os"
	"testing"
)

// An agent that does nothing has no right answer: what the checkers call right
// was done.
func TestIdleAgentIsWrong(t *testing.T) {
	for _, task := range agentTasks {
		t.Run(task.name, func(t *testing.T) {
			if name := task.missing(); name != "" {
				t.Skipf("%s is missing", name)
			}
			g, truth, err := task.newGround(t.TempDir(), os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := g.close(); err != nil {
					t.Error(err)
				}
			}()
			if wrong := (&agent{}).wrong(truth); len(wrong) != len(truth) || len(truth) == 0 {
				t.Errorf("of %d answers these are wrong: %q", len(truth), wrong)
			}
			for _, script := range []func(*agent){task.cli, task.mcp, task.tmux, task.commander} {
				if script == nil {
					t.Error("a tool has no script")
				}
			}
			if task.done == nil {
				return
			}
			for name, is := range task.done(g) {
				if is && task != &hung { // of which nothing runs before
					t.Errorf("%q is so before anything was done", name)
				}
			}
		})
	}
}

func TestLearns(t *testing.T) {
	a := &agent{learned: map[string]string{}}
	a.learns("code", `exit=(\d+)`, "exit=1\n$ echo exit=$?\nexit=2\n")
	a.learns("other", `lamp(\d+)`, "no such thing")
	if got := a.learned["code"]; got != "2" {
		t.Errorf("learned %q, want the last one", got)
	}
	if _, ok := a.learned["other"]; ok {
		t.Error("learned what no answer says")
	}
}
