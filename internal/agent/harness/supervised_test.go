package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
	"den/internal/agent/supervisor"
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

// looping is a driver whose agent makes the same call some times if it is told
// to "loop", and then waits until it is let go. It says something to every
// other message. What it is told is sent to prompts.
type looping struct {
	times   int
	prompts chan string
	let     chan struct{} // closed to let it go
}

func newLooping(times int) looping {
	return looping{times: times, prompts: make(chan string, 100), let: make(chan struct{})} // more prompts than a test makes
}

func (looping) Name() string { return "looping" }

func (l looping) Open(context.Context, runner.Options) (runner.Session, error) {
	return &loopingSession{looping: l, clumsySession: clumsySession{done: make(chan struct{})}}, nil
}

type loopingSession struct {
	looping
	clumsySession
}

func (s *loopingSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	s.looping.prompts <- prompt
	if !strings.Contains(prompt, "loop") {
		each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", "answer to "+prompt)})
		return runner.Result{Text: "answer to " + prompt}, nil
	}
	for i := range s.times {
		each(fails(fmt.Sprint(i)))
		each(failed(fmt.Sprint(i)))
	}
	select {
	case <-s.let:
		return runner.Result{}, nil
	case <-ctx.Done():
		return runner.Result{}, ctx.Err()
	}
}

func (l looping) drive(o *harness.Options) { o.Driver, o.Config.Backend = l, "looping" }

// A correction is the agent's next turn, whatever waits.
func TestCorrectionIsTheNextTurn(t *testing.T) {
	w := newWorld(t)
	driver := newLooping(5)
	w.start("worker", "", driver.drive)
	bob := w.person("bob")
	defer bob.Close()
	conn := w.dial("worker")
	call := func(request ipc.Request, data any) {
		t.Helper()
		if _, err := conn.Call(t.Context(), request, data); err != nil {
			t.Fatal(err)
		}
	}
	call(ipc.Request{Type: ipc.Pause}, nil)
	for _, text := range []string{"loop", "one", "two", "three"} {
		say(t, bob, "#general", "@worker "+text)
	}
	for status := (ipc.AgentStatus{}); status.Pending < 4; {
		call(ipc.Request{Type: ipc.Status}, &status)
	}
	call(ipc.Request{Type: ipc.Resume}, nil)
	for status := (ipc.AgentStatus{}); status.Pending < 5; { // until the correction is queued
		call(ipc.Request{Type: ipc.Status}, &status)
	}
	close(driver.let)
	for _, want := range []string{"@worker loop", "[supervisor CORRECTION]", "@worker one", "@worker two", "@worker three"} {
		if got := <-driver.prompts; !strings.Contains(got, want) {
			t.Errorf("the agent is told %q, want %q", got, want)
		}
	}
}

// stern is a judge that always corrects, and tells that it was asked.
type stern struct{ asked chan struct{} }

func (s stern) Judge(context.Context, supervisor.Window) (supervisor.Verdict, error) {
	s.asked <- struct{}{}
	return supervisor.Verdict{Action: supervisor.Correction, Message: "stop it"}, nil
}

// In one long turn an agent is corrected once: it hears nothing before the turn
// ends, so nothing can have failed to help.
func TestOneCorrectionForALongTurn(t *testing.T) {
	w := newWorld(t)
	driver, judge := newLooping(15), stern{asked: make(chan struct{}, 100)} // more than the test asks
	w.start("worker", "", driver.drive, func(o *harness.Options) { o.Judge = judge })
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker loop")
	for range 3 {
		<-judge.asked
	}
	say(t, bob, "#general", "@worker the end")
	close(driver.let)
	for _, want := range []string{"@worker loop", "[supervisor CORRECTION] stop it", "@worker the end"} {
		if got := <-driver.prompts; !strings.Contains(got, want) {
			t.Errorf("the agent is told %q, want %q", got, want)
		}
	}
	var status ipc.AgentStatus
	if _, err := w.dial("worker").Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil || status.Supervisor != "watching" {
		t.Errorf("%s, %v", status.Supervisor, err)
	}
}
