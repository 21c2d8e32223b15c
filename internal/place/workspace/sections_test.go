package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

func TestWorktree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "den.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
[defaults]
worktree_base = "main"

[[agents]]
name = "a"
start_command = "true"
worktree = true

[[agents]]
name = "b"
start_command = "true"
`)
	w := load(t, file)
	if a, b := w.Agents[0], w.Agents[1]; !a.Worktree || a.WorktreeBase != "main" || b.Worktree {
		t.Errorf("%v, %q, %v", a.Worktree, a.WorktreeBase, b.Worktree)
	}
	for text, want := range map[string]string{
		`worktree = "main"`:                                  "den.toml:4: 'worktree' must be true or false",
		`worktree_base = "--force"`:                          "den.toml:4: agent 'a': 'worktree_base' is a branch, a tag or a commit",
		`worktree_base = "a b"`:                              "den.toml:4: agent 'a': 'worktree_base' is a branch, a tag or a commit",
		"worktree = true\nsession_provider = \"kubernetes\"": "den.toml:4: agent 'a': 'worktree' does not go with runs_in = \"kubernetes\"",
	} {
		write("[[agents]]\nname = \"a\"\nstart_command = \"true\"\n" + text + "\n")
		if _, err := workspace.Load(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A limit on what nobody tells is warned of, where it stands.
func TestCostLimitsOfAgentsWithoutCosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "den.toml")
	text := `
[[agents]]
name = "a"
agent = "codex"
budget = { cost_per_day = 5.0, tokens_per_day = 1000 }

[[agents]]
name = "b"
agent = "claude"
budget = { cost_per_day = 5.0 }
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(load(t, file).Warnings, func(w string) bool { return !strings.Contains(w, "budget") })
	if want := []string{"den.toml:5: 'budget.cost_per_day' has no effect: codex does not tell what it costs; limit tokens or turns"}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
}

// How the keeper's own server is offered to other machines.
func TestServerForOtherMachines(t *testing.T) {
	path := write(t, map[string]string{"den.toml": "[server]\nlisten = \"0.0.0.0:6697\"\ntls_cert = \"tls/cert.pem\"\ntls_key = \"/etc/key.pem\"\n"})
	s := load(t, path).Server
	if s.Listen != "0.0.0.0:6697" || s.TLSCert != filepath.Join(filepath.Dir(path), "tls", "cert.pem") || s.TLSKey != "/etc/key.pem" || s.IsElsewhere() {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		"listen = \"0.0.0.0:6697\"\n":                                            "den.toml:2: 'server.listen' needs 'tls_cert' and 'tls_key'",
		"listen = \"0.0.0.0:6697\"\ntls_cert = \"c\"\n":                          "'server.listen' needs 'tls_cert' and 'tls_key'",
		"listen = \"0.0.0.0\"\ntls_cert = \"c\"\ntls_key = \"k\"\n":              "'server.listen' is '0.0.0.0'; it must be an address and a port",
		"listen = \":irc\"\ntls_cert = \"c\"\ntls_key = \"k\"\n":                 "it must be an address and a port",
		"listen = \":1\"\ntls_cert = \"c\"\ntls_key = \"k\"\nhost = \"other\"\n": "'server.host' names another one, 'other': keep one",
		"tls_cert = \"c\"\n": "'server.tls_cert' is for clients of other machines",
	} {
		_, err := workspace.Load(write(t, map[string]string{"den.toml": "[server]\n" + text}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestServerIsElsewhere(t *testing.T) {
	for host, want := range map[string]bool{"": false, "localhost": false, "127.0.0.1": false, "::1": false, "10.0.0.5": true, "irc.example.com": true} {
		if got := (workspace.Server{Host: host}).IsElsewhere(); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// How den's policy decides for an agent, and the warning of rules that nothing
// enforces.
func TestPolicyReach(t *testing.T) {
	for text, want := range map[string]struct{ how, why, warning string }{
		"provider: claude":                               {workspace.ByHook, "", ""},
		"provider: codex, session_provider: tmux":        {workspace.ByHook, "", ""},
		"provider: copilot, start_command: /opt/copilot": {workspace.ByHook, "", ""},
		"provider: opencode":                             {workspace.ByServer, "", ""},
		"provider: gemini":                               {workspace.ByRules, "", "1 of its permissions (den.yaml:1) do not hold: gemini has no such rules"},
		"agent: claude":                                  {workspace.ByProtocol, "", ""},

		"provider: opencode, state_source: screen":         {"", "its server is not used", "2 of its permissions"},
		"provider: opencode, sandbox: true, network: none": {"", "in the sandbox's network", "2 of its permissions"},
		"provider: opencode, sandbox: true, network: any":  {workspace.ByServer, "", ""},
		"provider: shell":       {"", "no hook that den knows", "2 of its permissions"},
		"start_command: claude": {"", "no hook that den knows", "2 of its permissions"},
		"provider: claude, start_command: 'cd x && claude'": {"", "its command is not claude itself", "2 of its permissions"},
		"provider: claude, session_provider: subprocess":    {"", "from a session that runs in 'subprocess'", "2 of its permissions"},
		"agent: script, start_command: cat":                 {"", "a script asks nobody", "2 of its permissions"},
	} {
		w := load(t, write(t, map[string]string{"den.yaml": "agents: [{name: a, " + text + ", permissions: [{outcome: deny, command: 'rm *'}, {outcome: deny, path: .env}]}]"}))
		how, why := w.Agents[0].PolicyReach()
		if how != want.how || (why == "") != (want.why == "") || !strings.Contains(why, want.why) {
			t.Errorf("%s: %q, %q; want %+v", text, how, why, want)
		}
		warnings := strings.Join(w.Warnings, "\n")
		if strings.Contains(warnings, "of its permissions") != (want.warning != "") || !strings.Contains(warnings, want.warning) {
			t.Errorf("%s: %q; want %q", text, warnings, want.warning)
		}
	}
}
