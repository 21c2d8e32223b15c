package supervisor_test

import (
	"encoding/json"
	"errors"
	"testing"

	"den/internal/agent/runner"
	"den/internal/agent/supervisor"
)

func use(id, input string) runner.Event {
	return runner.Event{Kind: runner.Spoke, Message: runner.UseTool("m", id, "Bash", json.RawMessage(input))}
}

func done(id, output string) runner.Event {
	return runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{ID: id, Output: output}}
}

func say(text string) runner.Event {
	return runner.Event{Kind: runner.Spoke, Message: runner.Say("m", text)}
}

func TestCollectorMakesSteps(t *testing.T) {
	var steps []supervisor.Step
	c := supervisor.NewCollector(func(s supervisor.Step) { steps = append(steps, s) })
	for _, e := range []runner.Event{
		{Kind: runner.Accepted},
		{Kind: runner.Spoke, Message: runner.Think("m", "hm")},
		say("I will look."), use("1", `{"a":1}`), use("2", `{"a":2}`), done("2", "two"), done("1", "one"),
		done("1", "again"), done("9", "unknown"),
		{Kind: runner.Used, Usage: &runner.Usage{InputTokens: 1}},
		use("3", `{}`), {Kind: runner.ToolFinished, Result: &runner.ToolDone{ID: "3", Denied: true, Output: "denied"}},
		say(" "), say("Done."), say("Really."),
	} {
		c.Event(e)
	}
	c.End(nil)
	if len(steps) != 4 {
		t.Fatalf("%d steps: %+v", len(steps), steps)
	}
	if s := steps[0]; s.Text != "I will look." || len(s.Tools) != 2 || s.Tools[0].Result != "one" || s.Tools[1].Result != "two" || s.Tools[0].Input != `{"a":1}` {
		t.Errorf("%+v", s)
	}
	if s := steps[1]; !s.Tools[0].Failed || !s.Tools[0].Done {
		t.Errorf("%+v", s)
	}
	if steps[2].Text != "Done." || steps[3].Text != "Really." {
		t.Errorf("%+v", steps[2:])
	}

	steps = nil
	c.Begin(true)
	c.Event(say("Yes."))
	c.Event(say("And more."))
	c.End(nil)
	c.Begin(false)
	c.Event(say("By myself."))
	c.End(nil)
	if len(steps) != 3 || !steps[0].Asked || steps[1].Asked || steps[2].Asked {
		t.Errorf("%+v", steps)
	}

	steps = nil
	c.Event(use("4", `{}`))
	c.End(&runner.Failure{Class: runner.Gone})
	c.End(errors.New("the context ended"))
	if len(steps) != 1 || steps[0].Error != "gone" || steps[0].Tools[0].Done {
		t.Errorf("%+v", steps)
	}
}
