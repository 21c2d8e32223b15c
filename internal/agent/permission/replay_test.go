package permission_test

import (
	"testing"
	"time"

	"den/internal/agent/permission"
)

// What a broker wrote down is decided again by looser and by stricter rules:
// the counts are those of the requests, and what a person denied is shown
// before what was asked more often.
func TestReplay(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state)
	b.Ask(t.Context(), run("ls"))
	decide := func(command string, approve bool) {
		answer := ask(t.Context(), b, run(command))
		open := <-heard.approvals
		if _, err := b.Decide(open.ID, permission.Answer{Approve: approve, By: "me"}); err != nil {
			t.Fatal(err)
		}
		<-heard.approvals
		<-answer
	}
	decide("go test ./...", true)
	decide("go test ./...", true)
	decide("go test -run=Evil x", false)
	decide("make deploy", true)
	entries, damaged, err := permission.ReadAudit(state)
	if err != nil || damaged > 0 {
		t.Fatal(damaged, err)
	}
	policy := func(rules ...permission.Rule) map[string]*permission.Policy {
		p, err := permission.NewPolicy(permission.Settings{Dir: dir, Rules: rules, Readlink: readlink, Exists: exists})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]*permission.Policy{"fox": p}
	}

	if got := permission.Replay(entries, time.Time{}, policy()); got.Requests != 5 || got.Same != 5 || len(got.Moves) != 0 {
		t.Errorf("under the rules of then: %+v", got)
	}
	got := permission.Replay(entries, time.Time{}, policy(allowCommand("go test *"), denyCommand("ls *")))
	if got.Requests != 5 || got.Same != 1 || len(got.Moves) != 2 {
		t.Fatalf("%+v", got)
	}
	loosened, tightened := got.Moves[0], got.Moves[1]
	if loosened.From != permission.Ask || loosened.To != permission.Allow || loosened.Count != 3 || loosened.Approved != 2 || loosened.Denied != 1 {
		t.Errorf("%+v", loosened)
	}
	if first := loosened.Examples[0]; first.Request.Command != "go test -run=Evil x" || first.Denied != 1 || loosened.Examples[1].Count != 2 {
		t.Errorf("%+v", loosened.Examples)
	}
	if tightened.From != permission.Allow || tightened.To != permission.Deny || tightened.Count != 1 {
		t.Errorf("%+v", tightened)
	}
	if got := permission.Replay(entries, entries[len(entries)-1].Time.Add(1), policy()); got.Requests != 0 {
		t.Errorf("since later: %+v", got)
	}
	if got := permission.Replay(entries, time.Time{}, nil); got.Requests != 0 {
		t.Errorf("of an agent without a policy: %+v", got)
	}
}
