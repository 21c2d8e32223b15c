package harness_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
)

// limited is a driver whose agent has used up its plan for an hour, until it is
// told that its turn was cut off by that.
type limited struct{}

func (limited) Name() string { return "limited" }

func (limited) Open(context.Context, runner.Options) (runner.Session, error) {
	return &limitedSession{done: make(chan struct{})}, nil
}

type limitedSession struct{ done chan struct{} }

func (s *limitedSession) ID() string                      { return "limited" }
func (s *limitedSession) Interrupt(context.Context) error { return nil }
func (s *limitedSession) Done() <-chan struct{}           { return s.done }
func (s *limitedSession) Close() runner.Exit              { return runner.Exit{} }

func (s *limitedSession) Turn(_ context.Context, prompt string, _ func(runner.Event)) (runner.Result, error) {
	if strings.Contains(prompt, "(quota: used up)") {
		return runner.Result{Text: "at last"}, nil
	}
	return runner.Result{}, &runner.Failure{Class: runner.Quota, Message: "used up", RetryAfter: time.Hour}
}

// Who asked is told when the answer has to wait for long, and why.
func TestAskerIsToldToWait(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, func(o *harness.Options) { o.Driver, o.Config.Backend = limited{}, "limited" })
	eve := w.person("eve")
	defer eve.Close()
	say(t, eve, "#general", "@worker please")
	e := hears(t, eve, "worker", 1)[0]
	if !strings.HasPrefix(e.Text, "eve: I cannot answer yet: quota: used up (wait, raise") || !strings.Contains(e.Text, "I try again at ") || e.Target != "#general" {
		t.Errorf("%+v", e)
	}
	if _, err := w.dial("worker").Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil {
		t.Fatal(err)
	}
	if e := hears(t, eve, "worker", 1)[0]; e.Text != "at last" {
		t.Errorf("%q", e.Text)
	}
}
