package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/keeper"
	"den/internal/place/workspace"
)

// Each word of `approval` means the same for an agent on a screen and for one by
// protocol, and 'den permissions explain' says what both would be told.
func TestApprovalMeansTheSameEverywhere(t *testing.T) {
	requests := []permission.Request{
		{Kind: permission.Edit, Paths: []string{"a.go"}},
		{Kind: permission.Edit, Paths: []string{"src/a.go"}},
		{Kind: permission.Edit, Paths: []string{"/elsewhere"}},
		{Kind: permission.Edit, Paths: []string{"den.toml"}},
		{Kind: permission.Read, Paths: []string{"a.go"}},
		{Kind: permission.Execute, Command: "ls"},
		{Kind: permission.Execute, Command: "make"},
		{Kind: permission.Execute, Command: "echo x > y"},
		{Kind: permission.Execute, Command: "den approvals approve x"},
		{Kind: permission.Fetch, URL: "https://example.org"},
	}
	for approval, want := range map[string]string{
		"ask":    "[ask allow ask ask allow allow ask ask deny ask]",
		"edits":  "[allow allow ask ask allow allow ask allow deny ask]",
		"bypass": "[allow allow allow ask allow allow allow allow deny allow]",
	} {
		var file string
		for _, way := range []string{"provider = 'claude'", "agent = 'claude'", "agent = 'codex'", "agent = 'copilot'", "agent = 'acp'"} {
			file += fmt.Sprintf("[[agents]]\nname = 'a%d'\n%s\napproval = '%s'\npermissions = [{ outcome = 'allow', kind = 'edit', path = 'src/**' }]\n", len(file), way, approval)
		}
		d := planned(t, file)
		for i := range d.plan.now().workspace.Agents {
			ag := &d.plan.now().workspace.Agents[i]
			policy := decidesFor(t, d, ag)
			var got, explained []permission.Outcome
			for _, r := range requests {
				outcome, _ := policy(r)
				got = append(got, outcome)
				said, err := d.explainPermission(d.plan.now().workspace, keeper.PermissionQuestion{Agent: ag.Name, Request: keeper.ApprovalRequest{Kind: string(r.Kind), Command: r.Command, Paths: r.Paths, URL: r.URL}})
				if err != nil {
					t.Fatal(err)
				}
				var e permission.Explanation
				if err := json.Unmarshal(said.Object, &e); err != nil {
					t.Fatal(err)
				}
				explained = append(explained, e.Outcome)
			}
			if fmt.Sprint(got) != want || fmt.Sprint(explained) != want {
				t.Errorf("%s of %s%s: %v, explained as %v, want %v", approval, ag.Preset, ag.Channel.Backend, got, explained, want)
			}
		}
	}
}

// What is explained of an agent that is told rules at its start says which of
// them it does not get.
func TestExplainSaysWhatIsNotTold(t *testing.T) {
	d := planned(t, "[[agents]]\nname = 'a'\nprovider = 'gemini'\npermissions = [{ outcome = 'deny', path = '.env' }, { outcome = 'deny', host = 'a.test' }, { outcome = 'deny', command = 'rm *' }]\n")
	for _, c := range []struct {
		request keeper.ApprovalRequest
		reach   bool
	}{
		{keeper.ApprovalRequest{Kind: "execute", Command: "cat .env"}, true},
		{keeper.ApprovalRequest{Kind: "execute", Command: "rm x; cat < .env"}, true},
		{keeper.ApprovalRequest{Kind: "execute", Command: "make"}, true},
		{keeper.ApprovalRequest{Kind: "read", Paths: []string{".env"}}, true},
		{keeper.ApprovalRequest{Kind: "fetch", URL: "https://a.test"}, true},
		{keeper.ApprovalRequest{Kind: "execute", Command: "rm x"}, false},
	} {
		said, err := d.explainPermission(d.plan.now().workspace, keeper.PermissionQuestion{Agent: "a", Request: c.request})
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Reach string }
		if err := json.Unmarshal(said.Object, &e); err != nil {
			t.Fatal(err)
		}
		if (e.Reach != "") != c.reach || c.reach && !strings.Contains(said.Text, "gemini is told rules for commands, tools and kinds only") {
			t.Errorf("%+v: %q\n%s", c.request, e.Reach, said.Text)
		}
	}
}

// The first line says den's outcome only where den decides, and else who does.
func TestExplainSaysWhoDecides(t *testing.T) {
	const denies = "permissions = [{ outcome = 'deny', command = 'rm *' }, { outcome = 'deny', path = '.env' }]\n"
	for _, c := range []struct{ way, kind, what, want string }{
		{"provider = 'codex'", "execute", "make", "den does not decide this: codex"},
		{"provider = 'codex'", "execute", "ls", "den does not decide this: codex"},
		{"provider = 'codex'\napproval = 'edits'", "execute", "make", "den does not decide this: codex"},
		{"provider = 'codex'", "execute", "rm x", "deny: "},
		{"provider = 'codex'", "execute", "touch den.toml", "ask: "},
		{"provider = 'codex'", "execute", "den approvals approve x", "deny: "},
		{"provider = 'codex'", "read", ".env", "den does not decide this: codex"},
		{"provider = 'codex'\napproval = 'bypass'", "execute", "make", "allow: "},
		{"agent = 'codex'", "execute", "make", "ask: "},
		{"provider = 'claude'", "execute", "make", "ask: "},
		{"provider = 'claude'", "tool", "mcp__x__y", "den does not decide this: "},
		{"agent = 'claude'", "tool", "mcp__x__y", "ask: "},
		{"provider = 'claude'\nstart_command = 'claude'", "execute", "make", "den does not decide this: "},
		{"provider = 'claude'\nstart_command = 'claude'", "execute", "rm x", "deny: "},
		{"provider = 'claude'\nstart_command = 'claude'", "execute", "den approvals approve x", "deny: "},
		{"provider = 'gemini'", "execute", "make", "den does not decide this: gemini"},
		{"provider = 'gemini'", "read", ".env", "den does not decide this: gemini"},
		{"provider = 'gemini'", "execute", "rm x", "deny: "},
		{"provider = 'qwen'", "execute", "rm x", "den does not decide this: "},
		{"start_command = 'cat'", "execute", "ls", "den does not decide this: "},
	} {
		d := planned(t, "[[agents]]\nname = 'a'\n"+c.way+"\n"+denies)
		r := keeper.ApprovalRequest{Kind: c.kind, Command: c.what}
		switch c.kind {
		case "read":
			r.Command, r.Paths = "", []string{c.what}
		case "tool":
			r = keeper.ApprovalRequest{Tool: c.what}
		}
		said, err := d.explainPermission(d.plan.now().workspace, keeper.PermissionQuestion{Agent: "a", Request: r})
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Reach string }
		if err := json.Unmarshal(said.Object, &e); err != nil {
			t.Fatal(err)
		}
		if elsewhere := strings.HasPrefix(c.want, "den does not"); !strings.HasPrefix(said.Text, c.want) || elsewhere && e.Reach == "" {
			t.Errorf("%s: %s %s: want %q:\n%s(%s)", c.way, c.kind, c.what, c.want, said.Text, e.Reach)
		}
	}
}

// decidesFor is what the keeper or the agent's harness asks.
func decidesFor(t *testing.T, d *daemon, ag *workspace.Agent) func(permission.Request) (permission.Outcome, string) {
	t.Helper()
	dir := d.harnessDir(ag.Name)
	if !ag.ByProtocol() {
		b, _, err := d.policies.Of(ag.Name, dir)
		if err != nil {
			t.Fatal(err)
		}
		return func(r permission.Request) (permission.Outcome, string) { return b.Judge(r, true) }
	}
	c, err := harness.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := permission.NewPolicy(c.Policy(dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	return p.Decide
}
