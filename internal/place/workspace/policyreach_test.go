package workspace_test

import (
	"strings"
	"testing"

	"den/internal/place/workspace"
)

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

		"provider: opencode, state_source: screen":          {"", "its server is not used", "2 of its permissions"},
		"provider: shell":                                   {"", "no hook that den knows", "2 of its permissions"},
		"start_command: claude":                             {"", "no hook that den knows", "2 of its permissions"},
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
