package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

func loadText(t *testing.T, name, text string) (*workspace.Workspace, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return workspace.Load(path)
}

// The short form and the table mean the same, in both languages, and layers lie
// over one another.
func TestSandboxForms(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]workspace.Sandbox{
		"[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n":                                                              {},
		"[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = true\n":                                              {Enabled: true},
		"[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = { read = [\"~/x\"] }\n":                              {Enabled: true, Read: []string{filepath.Join(home, "x")}},
		"[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = { write = [\"~\"] }\n":                               {Enabled: true, Write: []string{home}},
		"[defaults]\nsandbox = true\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n":                                  {Enabled: true},
		"[defaults]\nsandbox = true\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = false\n":                 {},
		"[defaults]\nsandbox = { write = [\"/w\"] }\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = true\n":  {Enabled: true, Write: []string{"/w"}},
		"[defaults]\nsandbox = { write = [\"/w\"] }\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = false\n": {Write: []string{"/w"}},
		"[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = { enabled = false, env = [\"X_*\"] }\n":              {Env: []string{"X_*"}},
		"agents:\n- name: a\n  start_command: cat\n  sandbox: true\n":                                                      {Enabled: true},
		"agents:\n- name: a\n  start_command: cat\n  sandbox:\n    read: [/r]\n":                                           {Enabled: true, Read: []string{"/r"}},
	} {
		name := "den.toml"
		if strings.HasPrefix(text, "agents:") {
			name = "den.yaml"
		}
		ws, err := loadText(t, name, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ws.Agents[0].Sandbox
		if got.Enabled != want.Enabled || !slices.Equal(got.Read, want.Read) || !slices.Equal(got.Write, want.Write) || !slices.Equal(got.Env, want.Env) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// What is not there is not granted, and that is told.
func TestSandboxMissing(t *testing.T) {
	ws, err := loadText(t, "den.toml", "[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nsandbox = { read = [\".\", \"nope\"], write = [\"/no/where\"] }\n")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(ws.Warnings, "\n")
	if len(ws.Warnings) != 2 || !strings.Contains(told, "/nope is not there") || !strings.Contains(told, "sandbox.write /no/where is not there") {
		t.Errorf("%q", told)
	}
}

func TestSandboxProblems(t *testing.T) {
	for keys, want := range map[string]string{
		"sandbox = \"yes\"":                   "'enabled' must be true or false",
		"sandbox = []":                        "must be a table",
		"sandbox = { raed = [] }":             "unknown key 'raed'",
		"sandbox = { read = [\"/\"] }":        "name what it needs",
		"sandbox = { write = [\"$HOME/b\"] }": "variables and patterns are not filled in",
		"sandbox = { read = [\"~/no*pe\"] }":  "variables and patterns are not filled in",
		"sandbox = { read = [\"no[pe]\"] }":   "variables and patterns are not filled in",
		"sandbox = true\nnetwork = \"lan\"":   "'network' is 'lan'",
		"network = \"none\"":                  "needs sandbox = true",
		"sandbox = true\nsession_provider = \"container\"\ncontainer = { image = \"x\" }":     "is a sandbox already",
		"network = \"none\"\nsession_provider = \"container\"\ncontainer = { image = \"x\" }": "container.network",
	} {
		_, err := loadText(t, "den.toml", "[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n"+keys+"\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "den.toml:") {
			t.Errorf("%s: %v, want %q", keys, err, want)
		}
	}
}

// An agent that asks nobody is unguarded unless a sandbox or a container keeps
// it.
func TestUnguarded(t *testing.T) {
	for keys, want := range map[string]bool{
		"": false, "approval = \"bypass\"": true, "approval = \"bypass\"\nsandbox = true": false, "approval = \"bypass\"\nsession_provider = \"container\"\ncontainer = { image = \"x\" }": false,
	} {
		ws, err := loadText(t, "den.toml", "[[agents]]\nname = \"a\"\nprovider = \"claude\"\n"+keys+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := ws.Agents[0].Unguarded(); got != want {
			t.Errorf("%q: %v", keys, got)
		}
	}
}

// Every preset of a coding agent says what its program needs of a home.
func TestPresetsHaveStates(t *testing.T) {
	for _, preset := range workspace.Presets() {
		if preset == "shell" || preset == "script" {
			continue
		}
		ws, err := loadText(t, "den.toml", "[[agents]]\nname = \"a\"\nprovider = \""+preset+"\"\napproval = \"bypass\"\nsandbox = true\n")
		if err != nil && strings.Contains(err.Error(), "approval") {
			ws, err = loadText(t, "den.toml", "[[agents]]\nname = \"a\"\nprovider = \""+preset+"\"\nsandbox = true\n")
		}
		if err != nil {
			t.Errorf("%s: %v", preset, err)
			continue
		}
		if s := ws.Agents[0].State; len(s.Write) == 0 || len(s.Env) == 0 {
			t.Errorf("%s: %+v", preset, s)
		}
	}
}
