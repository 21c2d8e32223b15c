package harness_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
	"den/internal/agent/webhook"
)

// loggedOut is a driver whose agent is killed in its first turn, and cannot log
// in when it is started again, until somebody has seen to that.
type loggedOut struct{ opened, loggedIn *atomic.Int32 }

func (loggedOut) Name() string { return "logged-out" }

func (d loggedOut) Open(context.Context, runner.Options) (runner.Session, error) {
	if d.opened.Add(1) > 1 && d.loggedIn.Load() == 0 {
		return nil, &runner.Failure{Class: runner.Auth, Message: "the login has expired"}
	}
	return &loggedOutSession{limitedSession{done: make(chan struct{})}, d}, nil
}

type loggedOutSession struct {
	limitedSession
	driver loggedOut
}

func (s *loggedOutSession) Turn(context.Context, string, func(runner.Event)) (runner.Result, error) {
	if s.driver.loggedIn.Load() > 0 {
		return runner.Result{Text: "at last"}, nil
	}
	close(s.done)
	return runner.Result{}, &runner.Failure{Class: runner.Gone, Message: "killed"}
}

// An agent that cannot be started again is silent to nobody: who asked, the
// receiver of webhooks and the keeper hear of it.
func TestLostLoginIsTold(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t)
	d := loggedOut{&atomic.Int32{}, &atomic.Int32{}}
	w.start("worker", sayer, w.webhooks(r, webhook.AgentError), func(o *harness.Options) { o.Driver, o.Config.Backend = d, "logged-out" })
	eve := w.person("eve")
	defer eve.Close()
	say(t, eve, "#general", "@worker please")
	conn := w.dial("worker")
	status := func() (s ipc.AgentStatus) {
		t.Helper()
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for status().Failure != string(runner.Gone) && d.opened.Load() < 2 {
	}
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil { // do not wait
		t.Fatal(err)
	}
	e := hears(t, eve, "worker", 1)[0]
	if !strings.HasPrefix(e.Text, "eve: I cannot answer yet: auth: the login has expired (log the agent in") {
		t.Errorf("%q", e.Text)
	}
	if got := <-r.events; got.Type != webhook.AgentError || !strings.HasPrefix(got.Message, "worker waits for somebody: auth: the login has expired") {
		t.Errorf("%+v", got)
	}
	if s := status(); s.Failure != string(runner.Auth) || s.Pending != 1 {
		t.Errorf("%+v", s)
	}
	d.loggedIn.Store(1)
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil {
		t.Fatal(err)
	}
	if e := hears(t, eve, "worker", 1)[0]; e.Text != "at last" {
		t.Errorf("%q", e.Text)
	}
	if s := status(); s.Failure != "" {
		t.Errorf("%+v", s)
	}
}

// An agent that fails too often is told of when it is left alone.
func TestGivenUpIsTold(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t)
	w.start("worker", "exit 3", w.webhooks(r, webhook.AgentError))
	eve := w.person("eve")
	defer eve.Close()
	for range 3 {
		say(t, eve, "#general", "@worker please")
	}
	for {
		if e := <-r.events; e.Severity == webhook.Critical {
			if !strings.HasPrefix(e.Message, "worker failed too often and is left alone until ") || !strings.Contains(e.Message, "bug: exit code 3") {
				t.Errorf("%+v", e)
			}
			return
		}
	}
}
