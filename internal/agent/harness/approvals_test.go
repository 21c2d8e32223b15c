package harness_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/chat/irc"
)

// asking is a driver whose agent wants to run what it is told, and says what
// became of it.
type asking struct{}

func (asking) Name() string { return "asking" }

func (asking) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	return &askingSession{options: o, done: make(chan struct{})}, nil
}

type askingSession struct {
	options runner.Options
	done    chan struct{}
}

func (s *askingSession) ID() string                      { return "asking" }
func (s *askingSession) Interrupt(context.Context) error { return nil }
func (s *askingSession) Done() <-chan struct{}           { return s.done }
func (s *askingSession) Close() runner.Exit              { return runner.Exit{} }

func (s *askingSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	_, command, _ := strings.Cut(prompt, "run ")
	d := s.options.Ask(ctx, permission.Request{Tool: "Bash", Kind: permission.Execute, Command: command})
	text := "ran " + command
	if !d.Allow {
		text = "did not: " + d.Reason
	}
	each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", text)})
	return runner.Result{Text: text}, nil
}

func asks(byNick bool) func(*harness.Options) {
	return func(o *harness.Options) {
		o.Driver, o.Config.Backend, o.Config.Owner, o.Config.OwnerByNick = asking{}, "asking", "bob", byNick
	}
}

// approvalID returns the id in a question that the agent asks its owner.
func approvalID(t *testing.T, e irc.Event) string {
	t.Helper()
	_, rest, ok := strings.Cut(e.Text, "May I? ")
	id, _, found := strings.Cut(rest, ":")
	if !ok || !found {
		t.Fatalf("no question: %q", e.Text)
	}
	return id
}

// What the policy does not know is asked of the owner, who decides in the
// channel.
func TestApprovalByOwner(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(true))
	bob, eve := w.person("bob"), w.person("eve")
	defer bob.Close()
	defer eve.Close()
	say(t, eve, "#general", "@worker run make install")
	id := approvalID(t, hears(t, bob, "worker", 1)[0])
	say(t, eve, "#general", "@worker approve "+id)
	if e := hears(t, eve, "worker", 1)[0]; !strings.Contains(e.Text, "only the account 'bob' decides") {
		t.Errorf("eve is told %q", e.Text)
	}
	say(t, eve, "#general", "@worker approve x7") // no id: it is not for the agent either
	if e := hears(t, eve, "worker", 1)[0]; !strings.Contains(e.Text, "only the account 'bob' decides") {
		t.Errorf("eve is told %q", e.Text)
	}
	say(t, bob, "#general", "@worker approve "+id)
	if e := hears(t, eve, "worker", 1)[0]; e.Text != "ran make install" {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@worker approve x7")
	if e := hears(t, eve, "worker", 1)[0]; !strings.Contains(e.Text, "there is none; 'den approvals' lists") {
		t.Errorf("bob is told %q", e.Text)
	}
	say(t, eve, "#general", "@worker run make clean")
	for {
		e := hears(t, bob, "worker", 1)[0]
		if strings.HasPrefix(e.Text, "May I?") {
			say(t, bob, "worker", "deny "+approvalID(t, e))
			break
		}
	}
	if e := hears(t, eve, "worker", 1)[0]; !strings.HasPrefix(e.Text, "did not: denied by bob") {
		t.Errorf("%q", e.Text)
	}
}

// A nick alone does not decide, unless the workspace says so.
func TestNickIsNoAccount(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(false))
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker run make install")
	id := approvalID(t, hears(t, bob, "worker", 1)[0])
	say(t, bob, "#general", "@worker approve "+id)
	if e := hears(t, bob, "worker", 1)[0]; !strings.Contains(e.Text, "only the account") {
		t.Errorf("%q", e.Text)
	}
}

// The socket shows what is asked, in the state too, and takes decisions.
func TestApprovalOnTheSocket(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(false))
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker run make install")
	hears(t, bob, "worker", 1)
	conn := w.dial("worker")
	var status ipc.AgentStatus
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil || status.State != "asking" || status.Question == nil {
		t.Fatalf("%+v, %v", status, err)
	}
	_, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Converse, Message: "run pwd", MessageID: "m1", Timeout: 0.001}, nil)
	if fault.KindOf(err) != fault.Timeout || !strings.Contains(err.Error(), "make install (approval "+status.Question.ID+")") || !strings.Contains(fault.HintOf(err), "'den attention'") || !strings.Contains(fault.HintOf(err), "--id m1") {
		t.Errorf("a message behind it: %v (%s)", err, fault.HintOf(err))
	}
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Decide, Question: status.Question.ID, Option: "approve", By: "tester"}, nil); err != nil {
		t.Fatal(err)
	}
	for {
		if e := hears(t, bob, "worker", 1)[0]; e.Target == "#general" {
			if e.Text != "ran make install" {
				t.Errorf("%q", e.Text)
			}
			break
		}
	}
	_, err = conn.Call(t.Context(), ipc.Request{Type: ipc.Decide, Question: status.Question.ID, Option: "deny", By: "late"}, nil)
	if err == nil || !strings.Contains(err.Error(), "approved by tester") {
		t.Errorf("a second decision: %v", err)
	}
}

// What nobody decides expires, and the agent is told.
func TestApprovalExpires(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(false), func(o *harness.Options) { o.Config.ApprovalExpiry = 50 * time.Millisecond })
	eve := w.person("eve")
	defer eve.Close()
	say(t, eve, "#general", "@worker run make install")
	if e := hears(t, eve, "worker", 1)[0]; !strings.HasPrefix(e.Text, "did not: expired") {
		t.Errorf("%q", e.Text)
	}
}

// What ended a short while ago is told beside what is open: who watches the
// list learns what became of it.
func TestEndedApprovalsAreTold(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(false), func(o *harness.Options) { o.Config.ApprovalExpiry = 50 * time.Millisecond })
	eve := w.person("eve")
	defer eve.Close()
	say(t, eve, "#general", "@worker run make install")
	hears(t, eve, "worker", 1) // it is told that it expired
	var told harness.Approvals
	if _, err := w.dial("worker").Call(t.Context(), ipc.Request{Type: ipc.Approvals}, &told); err != nil {
		t.Fatal(err)
	}
	if len(told.Approvals) != 0 || len(told.Recent) != 1 || told.Recent[0].State != permission.Expired || told.Recent[0].Request.Command != "make install" {
		t.Errorf("%+v", told)
	}
}

// With "bypass" what no rule decides is done at once, and is in the audit log;
// what a rule denies is not.
func TestBypassAsksNobody(t *testing.T) {
	w := newWorld(t)
	a := w.start("worker", sayer, asks(true), func(o *harness.Options) {
		o.Config.Bypass = true
		o.Config.Permissions = []permission.Rule{{Outcome: permission.Deny, Command: "make clean"}}
	})
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker run make install")
	if e := hears(t, bob, "worker", 1)[0]; e.Text != "ran make install" {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@worker run make clean")
	if e := hears(t, bob, "worker", 1)[0]; !strings.HasPrefix(e.Text, "did not: denied by policy") {
		t.Errorf("%q", e.Text)
	}
	entries, _, err := permission.ReadAudit(filepath.Join(a.state, "permission"))
	if err != nil || len(entries) != 2 || entries[0].Outcome != permission.Allow || !strings.Contains(entries[0].Why, `approval is "bypass"`) || entries[1].Outcome != permission.Deny {
		t.Errorf("%+v, %v", entries, err)
	}
}
