package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

// resolved is what a file says of its agents, whatever words it has: all values
// without their lines.
func resolved(t *testing.T, w *workspace.Workspace) string {
	t.Helper()
	type one struct {
		Values map[string]any
		Argv   []string
		Mind   string
	}
	var all []one
	for i := range w.Agents {
		a := &w.Agents[i]
		values := map[string]any{}
		for _, s := range a.Explain() {
			values[s.Key] = s.Value
		}
		delete(values, "dir")
		all = append(all, one{values, a.Argv(), a.Channel.Backend})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every old key means what the new ones beside it mean, and a hint has its line.
func TestOldWordsMeanTheSame(t *testing.T) {
	const mine = "\n[presets.mine]\nstart_command = \"mine\"\n"
	for _, tt := range []struct{ old, now, hint string }{
		{"[[agents]]\nname = \"a\"\nprovider = \"claude\"", "[[agents]]\nname = \"a\"\nagent = \"claude\"\ndrive = \"screen\"", `den.toml:3: provider = "claude" is an old key: write agent = "claude" and drive = "screen"`},
		{"[[agents]]\nname = \"a\"\nprovider = \"shell\"", "[[agents]]\nname = \"a\"\nagent = \"shell\"", `den.toml:3: provider = "shell" is an old key: write agent = "shell"`},
		{"[[agents]]\nname = \"a\"\nprovider = \"gemini\"", "[[agents]]\nname = \"a\"\nagent = \"gemini\"\ndrive = \"screen\"", `den.toml:3: provider = "gemini" is an old key: write agent = "gemini"`},
		{"[[agents]]\nname = \"a\"\nagent = \"codex\"", "[[agents]]\nname = \"a\"\nagent = \"codex\"\ndrive = \"protocol\"", ""},
		{"[[agents]]\nname = \"a\"\nbackend = \"codex\"", "[[agents]]\nname = \"a\"\nagent = \"codex\"\ndrive = \"protocol\"", ""},
		{"[[agents]]\nname = \"a\"\nprovider = \"claude\"\nagent = \"claude\"", "[[agents]]\nname = \"a\"\nagent = \"claude\"\ndrive = \"protocol\"", `den.toml:3: provider = "claude" is an old key: write agent = "claude" alone`},
		{"[[agents]]\nname = \"a\"\nprovider = \"mine\"\nagent = \"claude\"" + mine, "[[agents]]\nname = \"a\"\nagent = \"mine\"\nbackend = \"claude\"" + mine, `den.toml:3: provider = "mine" is an old key: write agent = "mine" and backend = "claude"`},
		{"[[agents]]\nname = \"a\"\nprovider = \"opencode\"\nagent = \"acp\"", "[[agents]]\nname = \"a\"\nagent = \"opencode\"\nbackend = \"acp\"\ndrive = \"protocol\"", `den.toml:3: provider = "opencode" is an old key: write agent = "opencode" and backend = "acp"`},
		{"[[agents]]\nname = \"a\"\nprovider = \"mine\"\n[presets.mine]\nstart_command = \"x\"\nagent = \"script\"", "[[agents]]\nname = \"a\"\nagent = \"mine\"\n[presets.mine]\nstart_command = \"x\"\nbackend = \"script\"", `den.toml:6: agent = "script" is an old key: write backend = "script"`},
		{"[[agents]]\nname = \"a\"\nagent = \"mine\"\n[providers.mine]\nstart_command = \"x\"", "[[agents]]\nname = \"a\"\nagent = \"mine\"\n[presets.mine]\nstart_command = \"x\"", "den.toml:4: [providers.mine] is an old key: write [presets.mine]"},
		{"[[agents]]\nname = \"a\"\nagent = \"shell\"\nsession_provider = \"tmux\"", "[[agents]]\nname = \"a\"\nagent = \"shell\"\nruns_in = \"tmux\"", `den.toml:4: session_provider = "tmux" is an old key: write runs_in = "tmux"`},
		{"[defaults]\nsession_provider = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", "[defaults]\nruns_in = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", `den.toml:2: session_provider = "tmux" is an old key: write runs_in = "tmux"`},
		{"[session]\nprovider = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", "[defaults]\nruns_in = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", `den.toml:2: provider = "tmux" is an old key: write runs_in = "tmux" in [defaults]`},
		{"[session]\nprovider = \"tmux\"\n[defaults]\nsession_provider = \"subprocess\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", "[defaults]\nruns_in = \"subprocess\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"", `den.toml:2: provider = "tmux" is an old key`},
		{"[workspace]\nprovider = \"shell\"\n[[agents]]\nname = \"a\"", "[defaults]\nagent = \"shell\"\n[[agents]]\nname = \"a\"", `den.toml:2: provider = "shell" is an old key: write agent = "shell" in [defaults]`},
		{"[workspace]\nprovider = \"claude\"\n[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\nchannels = [\"#x\"]", "[defaults]\nagent = \"claude\"\n[[agents]]\nname = \"a\"\ndrive = \"screen\"\n[[agents]]\nname = \"b\"\nchannels = [\"#x\"]", `den.toml:2: provider = "claude" is an old key: write agent = "claude" in [defaults], with drive = "screen" for agents that are in no channel`},
		{"[defaults]\nagent = \"script\"\n[[agents]]\nname = \"a\"\nstart_command = \"x\"", "[defaults]\nbackend = \"script\"\nagent = \"script\"\n[[agents]]\nname = \"a\"\nstart_command = \"x\"", ""},
		{"[defaults]\nagent = \"claude\"\n[[agents]]\nname = \"a\"\nprovider = \"mine\"" + mine, "[[agents]]\nname = \"a\"\nagent = \"mine\"\nbackend = \"claude\"" + mine, `den.toml:5: provider = "mine" is an old key: write agent = "mine" and backend = "claude"`},
		{"[[agents]]\nname = \"a\"\nchannels = [\"#x\"]", "[[agents]]\nname = \"a\"\nagent = \"claude\"\ndrive = \"protocol\"\nchannels = [\"#x\"]", ""},
	} {
		old, now := load(t, write(t, map[string]string{"den.toml": tt.old})), load(t, write(t, map[string]string{"den.toml": tt.now}))
		if got, want := resolved(t, old), resolved(t, now); got != want {
			t.Errorf("%s\nis\n%s\nand not, as %s,\n%s", tt.old, got, tt.now, want)
		}
		told := strings.Join(old.Warnings, "\n")
		if has := strings.Contains(told, "is an old key"); !strings.Contains(told, tt.hint) || has != (tt.hint != "") {
			t.Errorf("%s: told %q, want %q", tt.old, told, tt.hint)
		}
		if told := strings.Join(now.Warnings, "\n"); strings.Contains(told, "old key") {
			t.Errorf("%s: told %q", tt.now, told)
		}
	}
}

// An old key and a new one that say two things are refused, by both lines.
func TestOldAndNewWordsContradict(t *testing.T) {
	for text, want := range map[string]string{
		"[[agents]]\nname = \"a\"\nprovider = \"claude\"\nagent = \"codex\"":                                  "den.toml:3: 'provider' is an old key for 'agent', which den.toml:4 has with another value: keep 'agent'",
		"[[agents]]\nname = \"a\"\nagent = \"acp\"\nprovider = \"opencode\"\ndrive = \"protocol\"":            "den.toml:4: 'provider' is an old key for 'agent', which den.toml:3 has",
		"[[agents]]\nname = \"a\"\nagent = \"shell\"\nsession_provider = \"tmux\"\nruns_in = \"native\"":      "den.toml:4: 'session_provider' is an old key for 'runs_in', which den.toml:5 has",
		"[presets.p]\nagent = \"claude\"\nbackend = \"codex\"\n":                                              "den.toml:2: 'agent' is an old key for 'backend', which den.toml:3 has",
		"[presets.p]\nnudge = \"x\"\n[providers.p]\nnudge = \"x\"\n":                                          "den.toml:3: [providers.p] and [presets.p], at den.toml:1, are the same: keep the latter",
		"[session]\nprovider = \"tmux\"\n[defaults]\nruns_in = \"native\"\n":                                  "den.toml:2: 'session.provider' is an old key for 'defaults.runs_in', which den.toml:4 has",
		"[workspace]\nprovider = \"claude\"\n[defaults]\nagent = \"codex\"\n":                                 "den.toml:2: 'workspace.provider' is an old key for 'defaults.agent', which den.toml:4 has",
		"[[agents]]\nname = \"a\"\nagent = \"gemini\"\ndrive = \"protocol\"\n":                                "den.toml:4: agent 'a': drive = \"protocol\" is for claude, codex, copilot, acp, script, and for presets with a 'backend' of these: write agent = \"acp\" with the 'acp_command' of gemini",
		"[[agents]]\nname = \"a\"\nagent = \"claude\"\ndrive = \"screen\"\nbackend = \"claude\"\n":            "den.toml:4: agent 'a': 'drive' is \"screen\", and 'backend', at den.toml:5,",
		"[[agents]]\nname = \"a\"\nagent = \"shell\"\ndrive = \"voice\"\n":                                    "den.toml:4: 'drive' is 'voice'; it must be one of screen, protocol",
		"[[agents]]\nname = \"a\"\nagent = \"shell\"\nruns_in = \"tmx\"\n":                                    "den.toml:4: 'runs_in' is 'tmx'; it must be one of native, tmux,",
		"[defaults]\nruns_in = \"tmx\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"\n":                        "den.toml:2: 'runs_in' is 'tmx'",
		"[[agents]]\nname = \"a\"\nstart_command = \"x\"\ndrive = \"protocol\"\n":                             "den.toml:4: agent 'a': drive = \"protocol\" is for",
		"[[agents]]\nname = \"a\"\nagent = \"codex\"\nbackend = \"claude\"\n":                                 "den.toml:4: agent 'a': 'backend' is \"claude\", and 'agent', at den.toml:3, names another: keep 'agent'",
		"[[agents]]\nname = \"a\"\nagent = \"script\"\nbackend = \"claude\"\nstart_command = \"cat\"\n":       "den.toml:4: agent 'a': 'backend' is \"claude\"",
		"[presets.p]\nprovider = \"claude\"\n":                                                                "den.toml:2: unknown key 'provider' in [presets.p]",
		"include = [\"b.toml\"]\n[session]\nprovider = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"shell\"": "den.toml:3: 'session.provider' is an old key for 'defaults.runs_in', which b.toml:2 has",
	} {
		_, err := workspace.Load(write(t, map[string]string{"den.toml": text, "b.toml": "[defaults]\nruns_in = \"native\"\n"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Where an old key and a new one agree, both may stand there.
func TestOldAndNewWordsAgree(t *testing.T) {
	for _, text := range []string{
		"[[agents]]\nname = \"a\"\nprovider = \"claude\"\nagent = \"claude\"\ndrive = \"screen\"\nsession_provider = \"tmux\"\nruns_in = \"tmux\"",
		"[session]\nprovider = \"tmux\"\n[defaults]\nruns_in = \"tmux\"\n[[agents]]\nname = \"a\"\nagent = \"claude\"\ndrive = \"screen\"",
		"[workspace]\nprovider = \"claude\"\n[defaults]\nagent = \"claude\"\nruns_in = \"tmux\"\n[[agents]]\nname = \"a\"\ndrive = \"screen\"",
	} {
		w := load(t, write(t, map[string]string{"den.toml": text}))
		if a := w.Agents[0]; a.Preset != "claude" || a.ByProtocol() || a.RunsIn != "tmux" || !strings.Contains(strings.Join(w.Warnings, "\n"), "is an old key") {
			t.Errorf("%s: %s, by protocol: %v, in %s; %q", text, a.Preset, a.ByProtocol(), a.RunsIn, w.Warnings)
		}
	}
}

// One hint tells all lines that are written alike, in the file's own syntax; the
// specification's file has its own words.
func TestHintsAreToldOnce(t *testing.T) {
	agents := "agents:\n- name: a\n  provider: claude\n- name: b\n  provider: claude\n"
	w := load(t, write(t, map[string]string{"den.yaml": agents}))
	if want := []string{"den.yaml:3,5: provider: claude is an old key: write agent: claude and drive: screen"}; !slices.Equal(w.Warnings, want) {
		t.Errorf("%q, want %q", w.Warnings, want)
	}
	if w := load(t, write(t, map[string]string{"agents.yaml": agents})); len(w.Warnings) != 0 {
		t.Errorf("%q", w.Warnings)
	}
}

// A file may begin with the mark that editors of Windows write.
func TestByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{"den.toml": "[[agents]]\nname = \"a\"\nagent = \"shell\"", "den.yaml": "agents:\n- name: a\n  agent: shell\n"} {
		if w := load(t, write(t, map[string]string{name: "\ufeff" + text})); len(w.Agents) != 1 || w.Agents[0].Preset != "shell" {
			t.Errorf("%s: %+v", name, w.Agents)
		}
	}
}

// What den gives away is written in the words of today.
func TestOwnFilesHaveNoOldWords(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/*/den.toml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(data)
	}
	for _, name := range []string{"shells", "team"} {
		for _, claude := range []bool{true, false} {
			if texts[name], err = workspace.Example(name, "w", claude); err != nil {
				t.Fatal(err)
			}
			if w := load(t, write(t, map[string]string{"den.toml": texts[name]})); strings.Contains(strings.Join(w.Warnings, "\n"), "old key") {
				t.Errorf("%s: %q", name, w.Warnings)
			}
		}
	}
	for name, text := range texts {
		for _, old := range []string{"provider =", "[providers"} {
			if strings.Contains(text, old) {
				t.Errorf("%s has %q", name, old)
			}
		}
	}
}
