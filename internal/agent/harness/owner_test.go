package harness_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// awaitQuestion returns the id in the next question for permission.
func awaitQuestion(t *testing.T, c *irc.Client) string {
	t.Helper()
	for {
		if e := hears(t, c, "worker", 1)[0]; strings.HasPrefix(e.Text, "May I? ") {
			return approvalID(t, e)
		}
	}
}

// A decision can say why, and that it is for always, as in 'den approvals'.
// What only begins like one is for the agent.
func TestDecisionSaysWhy(t *testing.T) {
	w := newWorld(t)
	a := w.start("worker", sayer, asks(true))
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker run make install")
	id := awaitQuestion(t, bob)
	say(t, bob, "#general", "@worker approve "+id+" if the tests pass")
	if e := hears(t, bob, "worker", 1)[0]; !strings.Contains(e.Text, "nothing was decided") {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@worker Deny "+strings.ToUpper(id)+" it is Friday")
	for {
		e := hears(t, bob, "worker", 1)[0]
		if e.Target != "#general" {
			continue // it is told in private, too
		}
		if !strings.HasPrefix(e.Text, "did not: denied by bob (nick): it is Friday") {
			t.Errorf("%q", e.Text)
		}
		break
	}
	say(t, bob, "#general", "@worker run make clean")
	id = awaitQuestion(t, bob)
	say(t, bob, "#general", "@worker approve "+id+" --always --why it does no harm")
	for {
		if e := hears(t, bob, "worker", 1)[0]; e.Text == "ran make clean" {
			break
		}
	}
	entries, _, err := permission.ReadAudit(filepath.Join(a.state, "permission"))
	if err != nil {
		t.Fatal(err)
	}
	last := entries[len(entries)-1]
	if last.Why != "it does no harm" || last.By != "bob (nick)" {
		t.Errorf("%+v", last)
	}
	say(t, bob, "#general", "@worker approve it and run make clean") // is remembered
	for {
		if e := hears(t, bob, "worker", 1)[0]; e.Text == "ran make clean" {
			return
		}
	}
}

// awaitAsking returns when the agent waits for a decision.
func awaitAsking(t *testing.T, conn *ipc.Conn) {
	t.Helper()
	for status := (ipc.AgentStatus{}); status.State != "asking"; {
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil {
			t.Fatal(err)
		}
	}
}

// An owner who is away is asked when they come.
func TestOwnerIsAskedWhenTheyCome(t *testing.T) {
	w := newWorld(t)
	w.start("worker", sayer, asks(true))
	eve := w.person("eve")
	defer eve.Close()
	say(t, eve, "#general", "@worker run make install")
	conn := w.dial("worker")
	awaitAsking(t, conn)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker approve "+awaitQuestion(t, bob))
	if e := hears(t, eve, "worker", 1)[0]; e.Text != "ran make install" {
		t.Errorf("%q", e.Text)
	}
}

// The owner is an account, whatever nick it has.
func TestOwnerIsAskedByTheAccount(t *testing.T) {
	w := newWorldWith(t, func(c *ircd.Config) {
		accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
		if err == nil {
			err = accounts.Set("bob", "hunter2-hunter2")
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Accounts = accounts
	})
	w.start("worker", sayer, asks(false))
	eve := w.person("eve")
	defer eve.Close()
	robert, err := irc.Dial(t.Context(), irc.ClientConfig{
		Address: w.address, Nick: "robert", Login: &irc.Login{Account: "bob", Password: "hunter2-hunter2"},
		Limits: irc.ClientLimits{LineRate: 1000, LineBurst: 1000, FirstWait: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer robert.Close()
	say(t, eve, "#general", "@worker run make install") // robert is in no channel
	say(t, robert, "worker", "approve "+awaitQuestion(t, robert))
	if e := hears(t, eve, "worker", 1)[0]; e.Text != "ran make install" {
		t.Errorf("%q", e.Text)
	}
}
