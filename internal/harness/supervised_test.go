package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"den/internal/harness"
	"den/internal/runner"
)

// clumsy is a driver whose agent answers every message with the same command,
// which fails, and the words that it failed. What it is told is sent to
// prompts.
type clumsy struct{ prompts chan string }

func (clumsy) Name() string { return "clumsy" }

func (c clumsy) Open(context.Context, runner.Options) (runner.Session, error) {
	return &clumsySession{prompts: c.prompts, done: make(chan struct{})}, nil
}

type clumsySession struct {
	prompts chan string
	done    chan struct{}
	closing sync.Once
	calls   int
}

func (s *clumsySession) ID() string                      { return "clumsy" }
func (s *clumsySession) Interrupt(context.Context) error { return nil }
func (s *clumsySession) Done() <-chan struct{}           { return s.done }
func (s *clumsySession) Close() runner.Exit {
	s.closing.Do(func() { close(s.done) })
	return runner.Exit{}
}

func (s *clumsySession) Turn(_ context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	s.prompts <- prompt
	s.calls++
	each(fails(fmt.Sprint(s.calls)))
	each(failed(fmt.Sprint(s.calls)))
	each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", "it failed")})
	return runner.Result{Text: "it failed"}, nil
}

// fails is a call of a tool, and failed its end.
func fails(id string) runner.Event {
	return runner.Event{Kind: runner.Spoke, Message: runner.UseTool("", id, "Bash", json.RawMessage(`{"command":"make"}`))}
}

func failed(id string) runner.Event {
	return runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{ID: id, Failed: true, Output: "no rule to make it"}}
}

// People who speak to an agent do not keep its supervisor from seeing that it
// is stuck.
func TestMentionsDoNotHideThatAnAgentIsStuck(t *testing.T) {
	w := newWorld(t)
	driver := clumsy{prompts: make(chan string, 100)} // more than the test makes
	w.start("worker", "", func(o *harness.Options) { o.Driver, o.Config.Backend = driver, "clumsy" })
	bob := w.person("bob")
	defer bob.Close()
	for range 10 {
		say(t, bob, "#general", "@worker please make it")
	}
	for {
		if prompt := <-driver.prompts; strings.HasPrefix(prompt, "[supervisor ") {
			if !strings.HasPrefix(prompt, "[supervisor CORRECTION] You have called Bash ") {
				t.Errorf("%q", prompt)
			}
			return
		}
	}
}
