package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/workspace"
)

func values(v map[string]string) workspace.Environment { return workspace.Environment{Values: v} }

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretsAreReadFromFilesAndCommands(t *testing.T) {
	dir := t.TempDir()
	env, err := agent.ResolveEnv(t.Context(), workspace.Environment{
		Values: workspace.Env{"PLAIN": "1"},
		Secrets: map[string]workspace.Secret{
			"FILE":     {File: secretFile(t, "from a file\n")},
			"COMMAND":  {Command: []string{"printf", "a\\nb\\n"}},
			"WORKDIR":  {Command: []string{"pwd"}},
			"TWO_ENDS": {File: secretFile(t, "x\n\n")},
		},
	}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"PLAIN": "1", "FILE": "from a file", "COMMAND": "a\nb", "WORKDIR": dir, "TWO_ENDS": "x\n"}
	for k, v := range want {
		if env[k] != v {
			t.Errorf("%s = %q, want %q", k, env[k], v)
		}
	}
}

func TestSecretThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		secret workspace.Secret
		words  string
	}{
		"no file":   {workspace.Secret{File: "/nowhere/secret"}, "/nowhere/secret"},
		"empty":     {workspace.Secret{File: secretFile(t, "\n")}, "empty"},
		"NUL":       {workspace.Secret{File: secretFile(t, "hunter2\x00")}, "NUL"},
		"too long":  {workspace.Secret{File: secretFile(t, strings.Repeat("hunter2", 20000))}, "KiB"},
		"fails":     {workspace.Secret{Command: []string{"sh", "-c", "echo hunter2; echo locked >&2; exit 3"}}, "exit status 3"},
		"no such":   {workspace.Secret{Command: []string{"den-no-such-command"}}, "den-no-such-command"},
		"endless":   {workspace.Secret{Command: []string{"sh", "-c", "yes hunter2 | head -c 10000000"}}, "KiB"},
		"directory": {workspace.Secret{File: t.TempDir()}, "directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agent.ResolveEnv(t.Context(), workspace.Environment{Secrets: map[string]workspace.Secret{"API_KEY": c.secret}}, "")
			if err == nil || !strings.Contains(err.Error(), "API_KEY") || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want one with API_KEY and %q", err, c.words)
			}
			if text := err.Error() + fault.HintOf(err); strings.Contains(text, "hunter2") || strings.Contains(text, "locked") {
				t.Errorf("the error has what was printed in it: %s", text)
			}
		})
	}
}

func TestFingerprintKnowsASecretBySourceAlone(t *testing.T) {
	path := secretFile(t, "one")
	config := func() agent.SessionConfig {
		return agent.SessionConfig{Command: []string{"x"}, Env: workspace.Environment{Secrets: map[string]workspace.Secret{"K": {File: path}}}}
	}
	was := agent.FingerprintOf(config())
	if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := was.Diff(agent.FingerprintOf(config())); diff != nil {
		t.Errorf("another value is no other agent: %v", diff)
	}
	moved := config()
	moved.Env.Secrets["K"] = workspace.Secret{Command: []string{"cat", path}}
	if diff := was.Diff(agent.FingerprintOf(moved)); len(diff) != 1 || diff[0] != "env.K changed" {
		t.Errorf("another source: %v", diff)
	}
}
