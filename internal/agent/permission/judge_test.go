package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"den/internal/agent/permission"
)

// What a program on a screen may do is decided by rules, by the defaults where
// these are meant, and else by the program. What is decided is in the audit log.
func TestJudge(t *testing.T) {
	rules := []permission.Rule{
		{Outcome: permission.Deny, Command: "rm *"},
		{Outcome: permission.Allow, Command: "make *"},
		{Outcome: permission.Ask, Command: "git push *"},
		{Outcome: permission.Ask, Tool: "Deploy"},
		{Outcome: permission.Allow, Tool: "Search", Kind: permission.Other},
		{Outcome: permission.Deny, Tool: "Poll"},
	}
	of := func(tool string, kind permission.Kind) permission.Request {
		return permission.Request{Tool: tool, Kind: kind}
	}
	for _, c := range []struct {
		name                string
		request             permission.Request
		byRules, byDefaults permission.Outcome
	}{
		{"denied", run("rm x"), permission.Deny, permission.Deny},
		{"allowed", run("make all"), permission.Allow, permission.Allow},
		{"allowed in part", run("make all; ls"), "", permission.Allow},
		{"allowed, and asked by default", run("make all; touch x"), "", permission.Ask},
		{"asked", run("git push origin"), permission.Ask, permission.Ask},
		{"allowed and asked", run("make all && git push x"), permission.Ask, permission.Ask},
		{"harmless", run("ls"), "", permission.Allow},
		{"asked by default", run("touch x"), "", permission.Ask},
		{"read", read("a.go"), "", permission.Allow},
		{"read outside", read("/etc/hosts"), "", permission.Ask},
		{"its own permissions", run("den approvals approve x"), permission.Deny, permission.Deny},
		{"not said", permission.Request{}, "", permission.Ask},

		{"a tool with a rule that asks", of("Deploy", permission.Other), permission.Ask, permission.Ask},
		{"a tool with a rule that allows", of("Search", permission.Other), permission.Allow, permission.Allow},
		{"a tool that is not known", of("Task", permission.Other), "", ""},
		{"a plan", of("TodoWrite", permission.Think), "", ""},
		{"a question", of("AskUserQuestion", permission.Question), "", ""},
		{"a question that is denied", of("Poll", permission.Question), permission.Deny, permission.Deny},
	} {
		for defaults, want := range map[bool]permission.Outcome{false: c.byRules, true: c.byDefaults} {
			state := t.TempDir()
			b, heard := openBroker(t, state, rules...)
			got, why := b.Judge(c.request, defaults)
			if got != want || (why == "") != (want == "") {
				t.Errorf("%s, defaults %v: %q (%s), want %q", c.name, defaults, got, why, want)
			}
			if n := len(events(t, state)); (n == 1) != (want != "") || n > 1 || len(heard.approvals) > 0 {
				t.Errorf("%s, defaults %v: %d entries in the audit log, %d approvals", c.name, defaults, n, len(heard.approvals))
			}
		}
	}
}

// What cannot be recorded is denied.
func TestJudgeDeniesWhatItCannotRecord(t *testing.T) {
	state := t.TempDir()
	b, _ := openBroker(t, state, permission.Rule{Outcome: permission.Allow, Command: "make *"})
	if err := os.Mkdir(filepath.Join(state, "audit.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"make all", "touch x"} {
		if got, why := b.Judge(run(command), true); got != permission.Deny {
			t.Errorf("%s: %q, %s", command, got, why)
		}
	}
}

// Where edits are asked for, nothing that changes a file is allowed by default,
// and rules still allow it.
func TestAskEdits(t *testing.T) {
	for _, askEdits := range []bool{false, true} {
		p, err := permission.NewPolicy(permission.Settings{
			Dir: dir, Readlink: readlink, Exists: exists, AskEdits: askEdits, Rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Edit, Path: "src/**"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []permission.Outcome{permission.Allow, permission.Allow, permission.Allow, permission.Allow}
		if askEdits {
			want = []permission.Outcome{permission.Ask, permission.Ask, permission.Allow, permission.Allow}
		}
		var got []permission.Outcome
		for _, r := range []permission.Request{
			{Tool: "Write", Kind: permission.Edit, Paths: []string{"a.go"}}, run("echo x > a.go"),
			{Tool: "Write", Kind: permission.Edit, Paths: []string{"src/a.go"}}, read("a.go"),
		} {
			outcome, _ := p.Decide(r)
			got = append(got, outcome)
		}
		if !slices.Equal(got, want) {
			t.Errorf("AskEdits %v: %q, want %q", askEdits, got, want)
		}
	}
}
