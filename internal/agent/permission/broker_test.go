package permission_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/agent/permission"
	"den/internal/base/fault"
)

type told struct{ approvals chan permission.Approval }

func openBroker(t *testing.T, state string, rules ...permission.Rule) (*permission.Broker, told) {
	t.Helper()
	heard := told{make(chan permission.Approval, 1000)} // more than any test makes
	b, err := permission.OpenBroker(permission.Options{
		Dir: state, Agent: "fox", Settings: permission.Settings{Dir: dir, Rules: rules, Readlink: readlink, Exists: exists},
		Tell: func(a permission.Approval) { heard.approvals <- a },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, heard
}

func ask(ctx context.Context, b *permission.Broker, r permission.Request) <-chan permission.Decision {
	answer := make(chan permission.Decision, 1)
	go func() { answer <- b.Ask(ctx, r) }()
	return answer
}

func TestPolicyDecidesWithoutAsking(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state, denyCommand("rm *"))
	if d := b.Ask(t.Context(), run("ls")); !d.Allow {
		t.Errorf("%+v", d)
	}
	if d := b.Ask(t.Context(), run("rm x")); d.Allow || !strings.Contains(d.Reason, "rm *") {
		t.Errorf("%+v", d)
	}
	if len(heard.approvals) > 0 {
		t.Error("somebody was asked")
	}
	log := events(t, state)
	if want := []string{"policy allow", "policy deny deny command 'rm *'"}; !slices.Equal(log, want) {
		t.Errorf("audit log: %q, want %q", log, want)
	}
}

// events returns event, outcome, person and rule of every entry of the audit log.
func events(t *testing.T, state string) []string {
	t.Helper()
	entries, damaged, err := permission.ReadAudit(state)
	if err != nil || damaged > 0 {
		t.Fatalf("%v, %d damaged", err, damaged)
	}
	var all []string
	for _, e := range entries {
		if e.Agent != "fox" || e.Time.IsZero() {
			t.Errorf("entry %+v", e)
		}
		all = append(all, strings.Join(strings.Fields(fmt.Sprint(e.Event, " ", e.Outcome, " ", e.By, " ", e.Rule)), " "))
	}
	return all
}

func TestApproveAndDeny(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state)
	for _, row := range []struct {
		answer permission.Answer
		want   permission.Decision
		state  permission.State
	}{
		{permission.Answer{Approve: true, By: "ana"}, permission.Decision{Allow: true}, permission.Approved},
		{permission.Answer{By: "ana", Why: "not on Fridays"}, permission.Decision{Reason: "denied by ana: not on Fridays"}, permission.Denied},
	} {
		answer := ask(t.Context(), b, run("make deploy"))
		asked := <-heard.approvals
		if asked.State != permission.Open || asked.Request.Command != "make deploy" || asked.Agent != "fox" || asked.Asked == "" {
			t.Fatalf("%+v", asked)
		}
		onDisk, _, err := permission.List(state)
		if err != nil || onDisk[0].ID != asked.ID || onDisk[0].State != permission.Open {
			t.Fatalf("on disk: %+v, %v", onDisk, err)
		}
		decided, err := b.Decide("#"+strings.ToUpper(asked.ID), row.answer)
		if err != nil || decided.State != row.state || decided.By != "ana" {
			t.Fatalf("%+v, %v", decided, err)
		}
		if got := <-answer; got != row.want {
			t.Errorf("%+v, want %+v", got, row.want)
		}
		if end := <-heard.approvals; end.ID != asked.ID || end.State != row.state {
			t.Errorf("told %+v", end)
		}
	}
	want := []string{"asked ask", "approved allow ana", "asked ask", "denied deny ana"}
	if log := events(t, state); !slices.Equal(log, want) {
		t.Errorf("audit log: %q", log)
	}
}

func TestSecondDecisionSaysWhoWasFirst(t *testing.T) {
	b, heard := openBroker(t, t.TempDir())
	answer := ask(t.Context(), b, run("make"))
	id := (<-heard.approvals).ID
	if _, err := b.Decide(id, permission.Answer{Approve: true, By: "ana"}); err != nil {
		t.Fatal(err)
	}
	if d := <-answer; !d.Allow {
		t.Errorf("%+v", d)
	}
	_, err := b.Decide(id, permission.Answer{By: "bob"})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "approved by ana") || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := b.Decide("zzzzz", permission.Answer{By: "bob"}); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := b.Decide(id, permission.Answer{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
}

func TestExpires(t *testing.T) {
	state := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, heard := openBroker(t, state)
		begun := time.Now()
		d := b.Ask(t.Context(), run("make"))
		if d.Allow || !strings.Contains(d.Reason, "expired") {
			t.Errorf("%+v", d)
		}
		if took := time.Since(begun); took != 15*time.Minute {
			t.Errorf("after %v", took)
		}
		id := (<-heard.approvals).ID
		if end := <-heard.approvals; end.State != permission.Expired {
			t.Errorf("told %+v", end)
		}
		if _, err := b.Decide(id, permission.Answer{Approve: true, By: "ana"}); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "expired") {
			t.Errorf("%v", err)
		}
	})
	if log := events(t, state); !slices.Equal(log, []string{"asked ask", "expired deny"}) {
		t.Errorf("audit log: %q", log)
	}
}

func TestWithdrawnWhenTheAskerLeaves(t *testing.T) {
	b, heard := openBroker(t, t.TempDir())
	ctx, leave := context.WithCancel(t.Context())
	answer := ask(ctx, b, run("make"))
	<-heard.approvals
	leave()
	if d := <-answer; d.Allow || !strings.Contains(d.Reason, "withdrawn") {
		t.Errorf("%+v", d)
	}
	if end := <-heard.approvals; end.State != permission.Withdrawn {
		t.Errorf("told %+v", end)
	}
	if all := b.Approvals(); len(all) != 1 || all[0].State != permission.Withdrawn {
		t.Errorf("%+v", all)
	}
}

func TestAlwaysIsRememberedNarrowly(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state)
	answer := ask(t.Context(), b, run("make test"))
	decided, err := b.Decide((<-heard.approvals).ID, permission.Answer{Approve: true, Always: true, By: "ana"})
	if err != nil || !decided.Always || decided.Note != "" {
		t.Fatalf("%+v, %v", decided, err)
	}
	if d := <-answer; d != (permission.Decision{Allow: true, Always: true}) {
		t.Errorf("%+v", d)
	}
	again, _ := openBroker(t, state) // as after a restart
	if d := again.Ask(t.Context(), run("make test")); !d.Allow {
		t.Errorf("%+v", d)
	}
	if e := again.Explain(run("make deploy")); e.Outcome != permission.Ask {
		t.Errorf("%+v", e)
	}
	if rules := again.Rules(); len(rules) != 1 || !strings.Contains(rules[0].Origin, "ana") {
		t.Errorf("%+v", rules)
	}
	if log := events(t, state); !slices.Contains(log, "approved allow ana allow tool 'Bash' kind 'execute' command 'make test'") {
		t.Errorf("audit log: %q", log)
	}
}

func TestAlwaysThatCannotBeNarrowHoldsOnce(t *testing.T) {
	for _, line := range []string{"make $x", "curl -H 'Authorization: Bearer abcdef123456' x", "python3 -c 'print(1)'"} {
		b, heard := openBroker(t, t.TempDir())
		answer := ask(t.Context(), b, run(line))
		decided, err := b.Decide((<-heard.approvals).ID, permission.Answer{Approve: true, Always: true, By: "ana"})
		if err != nil || decided.Always || decided.Note == "" {
			t.Errorf("%s: %+v, %v", line, decided, err)
		}
		if d := <-answer; !d.Allow || d.Always || len(b.Rules()) > 0 {
			t.Errorf("%s: %+v, %v", line, d, b.Rules())
		}
	}
}

func TestSecretsAreShownNowhere(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state)
	secret := "hunter2hunter2"
	token := "ghp_" + strings.Repeat("aB3d", 9)
	r := run("API_TOKEN=" + secret + " curl -u ana:" + secret + " --password " + secret + " https://x:" + secret + "@a.test " + token)
	r.Text, r.URL = "use "+token, "https://a.test/?token="+secret
	r.Input = json.RawMessage(`{"env":{"PASSWORD":"` + secret + `"},"command":"echo ` + token + `","n":12345678901234567890}`)
	answer := ask(t.Context(), b, r)
	shown := <-heard.approvals
	if !strings.Contains(string(shown.Request.Input), "12345678901234567890") {
		t.Errorf("input: %s", shown.Request.Input)
	}
	if _, err := b.Decide(shown.ID, permission.Answer{By: "ana", Why: "never " + token}); err != nil {
		t.Fatal(err)
	}
	<-answer
	err := filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) || strings.Contains(string(data), token) {
			t.Errorf("%s has a secret: %s", path, data)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAnAgentCannotChangeItsPermissions(t *testing.T) {
	state := t.TempDir()
	b, _ := openBroker(t, state, permission.Rule{Outcome: permission.Allow, Path: "/**"})
	if e := b.Explain(edit(filepath.Join(state, "rules.json"))); e.Outcome != permission.Deny {
		t.Errorf("%+v", e)
	}
}

func TestWithoutAuditLogNothingIsAllowed(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state)
	if err := os.Mkdir(filepath.Join(state, "audit.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ls", "make"} {
		if d := b.Ask(t.Context(), run(line)); d.Allow || !strings.Contains(d.Reason, "audit log") {
			t.Errorf("%s: %+v", line, d)
		}
	}
	if len(heard.approvals) > 0 {
		t.Error("somebody was asked")
	}
}

func TestAHalfLineDoesNotSpoilTheAuditLog(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "audit.jsonl"), []byte(`{"v":1,"agent":"fo`), 0o600); err != nil {
		t.Fatal(err)
	}
	b, _ := openBroker(t, state)
	b.Ask(t.Context(), run("ls"))
	entries, damaged, err := permission.ReadAudit(state)
	if err != nil || damaged != 1 || len(entries) != 1 {
		t.Errorf("%+v, %d damaged, %v", entries, damaged, err)
	}
}

func TestRulesOfANewerDenAreRefused(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "rules.json"), []byte(`{"v":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := permission.OpenBroker(permission.Options{Dir: state, Settings: permission.Settings{Dir: dir}})
	if fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "99") {
		t.Errorf("%v", err)
	}
}

func TestRememberedRulesAreCheckedWhenRead(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "rules.json"), []byte(`{"v":1,"rules":[{"outcome":"allow","tool":"Bash"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := permission.OpenBroker(permission.Options{Dir: state, Settings: permission.Settings{Dir: dir}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
}

func TestManyAskAndManyDecide(t *testing.T) {
	b, heard := openBroker(t, t.TempDir())
	const n = 40
	answers := make([]<-chan permission.Decision, n)
	for i := range n {
		answers[i] = ask(t.Context(), b, run(fmt.Sprint("make ", i)))
	}
	ids := map[string]string{}
	for range n {
		a := <-heard.approvals
		ids[a.Request.Command] = a.ID
	}
	won := make(chan bool, 2*n)
	for i := range n {
		for range 2 {
			go func() {
				_, err := b.Decide(ids[fmt.Sprint("make ", i)], permission.Answer{Approve: i%2 == 0, By: "ana"})
				won <- err == nil
			}()
		}
	}
	first := 0
	for range 2 * n {
		if <-won {
			first++
		}
	}
	if first != n {
		t.Errorf("%d decisions counted, want %d", first, n)
	}
	for i := range n {
		if d := <-answers[i]; d.Allow != (i%2 == 0) {
			t.Errorf("make %d: %+v", i, d)
		}
	}
}

// TestMain makes this binary the process that TestKilledWhileAsking kills.
func TestMain(m *testing.M) {
	if state := os.Getenv("PERMISSION_TEST_STATE"); state != "" {
		askUntilKilled(state)
	}
	os.Exit(m.Run())
}

func askUntilKilled(state string) {
	b, err := permission.OpenBroker(permission.Options{
		Dir: state, Agent: "fox", Settings: permission.Settings{Dir: dir},
		Tell: func(a permission.Approval) { fmt.Println("asked", a.ID) },
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b.Ask(context.Background(), run("make"))
}

func TestKilledWhileAsking(t *testing.T) {
	state := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "PERMISSION_TEST_STATE="+state)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	id, ok := strings.CutPrefix(strings.TrimSpace(line), "asked ")
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if !ok {
		t.Fatalf("the child said %q, %v", line, err)
	}
	b, heard := openBroker(t, state)
	if a := <-heard.approvals; a.ID != id || a.State != permission.Withdrawn {
		t.Errorf("told %+v", a)
	}
	if _, err := b.Decide(id, permission.Answer{Approve: true, By: "ana"}); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("%v", err)
	}
	if log := events(t, state); !slices.Equal(log, []string{"asked ask", "withdrawn deny"}) {
		t.Errorf("audit log: %q", log)
	}
}
