package workspace_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

func TestSecretsAreReferences(t *testing.T) {
	path := write(t, map[string]string{"den.toml": `
version = 1
[defaults]
env = { API_KEY = "sk-literal", SHARED = "1", OTHER_TOKEN = { file = "defaults.txt" } }
[[agents]]
name = "a"
start_command = "x"
env = { API_KEY = { file = "keys/a" }, OTHER_TOKEN = { command = ["pass", "show", "x"] }, PLAIN = "p", LITERAL_SECRET = "hunter2" }
`})
	a := &load(t, path).Agents[0]
	if s := a.Env.Secrets["API_KEY"]; s.File != filepath.Join(filepath.Dir(path), "keys/a") || s.Command != nil {
		t.Errorf("API_KEY: %+v", s)
	}
	if s := a.Env.Secrets["OTHER_TOKEN"]; s.File != "" || !slices.Equal(s.Command, []string{"pass", "show", "x"}) {
		t.Errorf("a layer's secret takes the place of the whole one below: %+v", s)
	}
	if a.Env.Values["SHARED"] != "1" || a.Env.Values["PLAIN"] != "p" || len(a.Env.Values) != 3 {
		t.Errorf("values: %v", a.Env.Values)
	}
	text, err := json.Marshal(a.Explain())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sk-literal", "hunter2"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("explain prints %q: %s", secret, text)
		}
	}
	for _, shown := range []string{"keys/a", `"p"`, "(hidden)"} {
		if !strings.Contains(string(text), shown) {
			t.Errorf("explain does not show %q: %s", shown, text)
		}
	}
}

func TestSecretProblems(t *testing.T) {
	for value, words := range map[string]string{
		`{}`:                               "either 'file' or 'command'",
		`{ file = "x", command = ["y"] }`:  "either 'file' or 'command'",
		`{ fil = "x" }`:                    "did you mean 'file'",
		`{ command = "cat x" }`:            "must be a list",
		`["x"]`:                            "must be text",
		`{ file = "x", more = { a = 1 } }`: "unknown key 'more'",
	} {
		_, err := workspace.Load(write(t, map[string]string{"den.toml": "[[agents]]\nname = \"a\"\nstart_command = \"x\"\nenv = { K = " + value + " }\n"}))
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", value, err, words)
		}
	}
}

func TestSchemaVersion(t *testing.T) {
	agent := "\n[[agents]]\nname = \"a\"\nstart_command = \"x\"\n"
	load(t, write(t, map[string]string{"den.toml": "version = 1" + agent}))
	_, err := workspace.Load(write(t, map[string]string{"den.toml": "version = 2" + agent}))
	if err == nil || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("a newer version: %v", err)
	}
}

func TestKeysWithoutEffectWarn(t *testing.T) {
	w := load(t, write(t, map[string]string{"den.toml": `
[server]
name = "w"
port = 6667
[supervisor]
agent = "claude"
[[agents]]
name = "a"
start_command = "x"
channels = ["#a"]
`}))
	all := strings.Join(w.Warnings, "\n")
	for _, want := range []string{"den.toml:10: 'channels'"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %s in:\n%s", want, all)
		}
	}
	if strings.Contains(all, "server.name") {
		t.Errorf("the server's name names the workspace:\n%s", all)
	}
}

func TestRestartPolicy(t *testing.T) {
	agent := "[[agents]]\nname = \"a\"\nstart_command = \"x\"\n"
	if a := load(t, write(t, map[string]string{"den.toml": agent})).Agents[0]; a.Restart.Policy != workspace.RestartAlways {
		t.Errorf("the default is %q", a.Restart.Policy)
	}
	if a := load(t, write(t, map[string]string{"den.toml": agent + `restart = { policy = "on-failure" }`})).Agents[0]; a.Restart.Policy != workspace.RestartOnFailure || a.Restart.MaxRestarts != 5 {
		t.Errorf("%+v", a.Restart)
	}
	if _, err := workspace.Load(write(t, map[string]string{"den.toml": agent + `restart = { policy = "on-failur" }`})); err == nil || !strings.Contains(err.Error(), "did you mean 'on-failure'") {
		t.Errorf("a misspelt policy: %v", err)
	}
}

func TestMembersHaveAnIndex(t *testing.T) {
	w := load(t, write(t, map[string]string{"den.toml": "[[agents]]\nname = \"p\"\ndir = \"d\"\nstart_command = \"x\"\npool = { min = 1, max = 12 }\n[[agents]]\nname = \"one\"\nstart_command = \"x\"\n"}))
	for name, want := range map[string]int{"d/p-12": 12, "p-3": 3, "one": 0} {
		if a, err := w.Agent(name); err != nil || a.Index != want {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	for _, name := range []string{"p-13", "p-0", "p-03", "p-x", "p-"} {
		if a, err := w.Agent(name); err == nil {
			t.Errorf("%s is agent %s", name, a.Name)
		}
	}
	if a := w.Agents[0].Named("d/p-7"); a.Index != 7 || a.Name != "d/p-7" {
		t.Errorf("%+v", a)
	}
}
