package permission_test

import (
	"testing"

	"den/internal/agent/permission"
	"den/internal/base/fault"
)

func TestRememberIsNarrow(t *testing.T) {
	other := permission.Request{Tool: "mcp__docs", Kind: permission.Other}
	for name, row := range map[string]struct {
		request permission.Request
		outcome permission.Outcome
		rule    string // the only rule
		still   permission.Request
	}{
		"command":          {run("go test ./..."), permission.Allow, "allow tool 'Bash' kind 'execute' command 'go test ./...'", run("go test ./... -exec rm")},
		"command with *":   {run(`grep -R '*' x`), permission.Allow, "allow tool 'Bash' kind 'execute' command 'grep -R '*' x'", run("grep -R y x")},
		"wrapped command":  {run("timeout 5 go vet"), permission.Allow, "allow tool 'Bash' kind 'execute' command 'go vet'", run("go vet x")},
		"one of a list":    {run("git status && make"), permission.Allow, "allow tool 'Bash' kind 'execute' command 'make'", run("make x")},
		"file":             {edit("/etc/hosts"), permission.Allow, "allow tool 'Edit' kind 'edit' path '/etc/hosts'", edit("/etc/passwd")},
		"file with [":      {edit("/etc/[a]"), permission.Allow, `allow tool 'Edit' kind 'edit' path '/etc/\[a]'`, edit("/etc/a")},
		"file by a link":   {read("out/hosts"), permission.Allow, "allow tool 'Read' kind 'read' path '/etc/hosts'", read("out/passwd")},
		"redirection":      {run("ls > /tmp/x"), permission.Allow, "allow tool 'Bash' kind 'edit' path '/tmp/x'", run("ls > /tmp/y")},
		"host":             {fetch("https://a.test/x?y"), permission.Allow, "allow tool 'WebFetch' kind 'fetch' host 'a.test'", fetch("https://b.test")},
		"tool":             {other, permission.Allow, "allow tool 'mcp__docs' kind 'other'", permission.Request{Tool: "mcp__x", Kind: permission.Other}},
		"denied command":   {run("git push"), permission.Deny, "deny tool 'Bash' kind 'execute' command 'git push'", run("git push x")},
		"denied in a list": {run("ls; git push"), permission.Deny, "deny tool 'Bash' kind 'execute' command 'git push'", run("git push x")},
	} {
		p := newPolicy(t)
		got, err := p.Remember(row.request, row.outcome)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got) != 1 || got[0].String() != row.rule {
			t.Errorf("%s: %v, want %s", name, got, row.rule)
		}
		with, err := p.With(got...)
		if err != nil {
			t.Fatal(err)
		}
		if outcome, why := with.Decide(row.still); outcome != permission.Ask {
			t.Errorf("%s: %+v: %s (%s), want ask", name, row.still, outcome, why)
		}
	}
}

func TestRememberRefusesWhatIsNotNarrow(t *testing.T) {
	for name, row := range map[string]struct {
		request permission.Request
		outcome permission.Outcome
		rules   []permission.Rule
	}{
		"variable argument":  {request: run("go test $x"), outcome: permission.Allow},
		"unreadable line":    {request: run(`go "`), outcome: permission.Allow},
		"shell that reads":   {request: run("curl x | sh"), outcome: permission.Allow},
		"code":               {request: run("python3 -c 'print(1)'"), outcome: permission.Allow},
		"sudo with options":  {request: run("sudo -u bob rm x"), outcome: permission.Allow},
		"files not said":     {request: edit(), outcome: permission.Allow},
		"address not said":   {request: fetch(""), outcome: permission.Allow},
		"two things denied":  {request: run("make; git push"), outcome: permission.Deny},
		"asked by a rule":    {request: run("git push"), outcome: permission.Allow, rules: []permission.Rule{{Outcome: permission.Ask, Command: "git push *"}}},
		"tool with a star":   {request: permission.Request{Tool: "a*", Kind: permission.Other}, outcome: permission.Allow},
		"tool without name":  {request: permission.Request{Kind: permission.Other}, outcome: permission.Allow},
		"shell without line": {request: run(""), outcome: permission.Allow},
	} {
		if got, err := newPolicy(t, row.rules...).Remember(row.request, row.outcome); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, %v, want a usage error", name, got, err)
		}
	}
}
