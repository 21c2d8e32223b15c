package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/workspace"
)

func TestIncludeMergesAndRemembersPlaces(t *testing.T) {
	w := load(t, write(t, map[string]string{
		"den.toml":          "include = [\"parts/a.yaml\", \"parts/b.toml\"]\n[workspace]\nname = \"top\"\n[[agents]]\nname = \"last\"\nprovider = \"p\"\n",
		"parts/a.yaml":      "include: [common.toml]\nworkspace: {name: lower}\nagents:\n  - name: first\n    provider: p\n    prompt_template: x.md\n",
		"parts/b.toml":      "include = [\"common.toml\"]\n[providers.p]\nargs = [\"-b\"]\n",
		"parts/common.toml": "[providers.p]\ncommand = \"run\"\nargs = [\"-a\"]\n",
	}))
	if w.Name != "top" || len(w.Agents) != 2 || w.Agents[0].Name != "first" || w.Agents[1].Name != "last" || len(w.Files) != 4 {
		t.Fatalf("%q %v", w.Name, w.Files)
	}
	first := &w.Agents[0]
	if got := strings.Join(first.Argv(), " "); got != "run -a -b" {
		t.Errorf("Argv = %q", got)
	}
	if first.PromptTemplate != filepath.Join(w.Dir, "parts/x.md") {
		t.Errorf("a file is looked for beside the file that names it, got %s", first.PromptTemplate)
	}
	for _, s := range first.Explain() {
		if s.Key == "args" && (s.From() != "common.toml:3 + b.toml:3" || s.Text() != `["-a","-b"]`) {
			t.Errorf("args %s from %s", s.Text(), s.From())
		}
	}
}

// A patch changes an agent of an included file, and no other.
func TestPatches(t *testing.T) {
	files := map[string]string{
		"den.toml": "include = [\"team.toml\"]\n[[patches.agents]]\nname = \"a\"\nargs = [\"-x\"]\nnudge = \"go\"\nprompt_template = \"x.md\"\nenv = { B = \"2\" }\nfingerprint_extra = { release = \"2\" }\n" +
			"[[patches.agents]]\nname = \"b\"\ndir = \"two\"\nsuspended = true\n",
		"team.toml": "[[agents]]\nname = \"a\"\nstart_command = [\"run\"]\nargs = [\"-a\"]\nenv = { A = \"1\" }\n" +
			"[[agents]]\nname = \"b\"\ndir = \"one\"\nstart_command = [\"run\"]\n[[agents]]\nname = \"b\"\ndir = \"two\"\nstart_command = [\"run\"]\n",
	}
	w := load(t, write(t, files))
	a := &w.Agents[0]
	if got := strings.Join(a.Argv(), " "); len(w.Agents) != 3 || got != "run -a -x" || a.Nudge != "go" || a.Env.Values["A"] != "1" || a.Env.Values["B"] != "2" || a.PromptTemplate != filepath.Join(w.Dir, "x.md") {
		t.Errorf("%q, %+v", got, a)
	}
	if a.FingerprintExtra["release"] != "2" {
		t.Errorf("%v", a.FingerprintExtra)
	}
	if a.Origin("nudge").String() != "den.toml:5" || w.Agents[1].Suspended || !w.Agents[2].Suspended {
		t.Errorf("%v, %+v", a.Origin("nudge"), w.Agents)
	}
	for text, want := range map[string]string{
		"[[patches.agents]]\nname = \"c\"\n":                 "den.toml:2: there is no such agent to patch",
		"[[patches.agents]]\nname = \"b\"\n":                 "den.toml:2: there are 2 such agents",
		"[[patches.agents]]\nname = \"a\"\nnudgee = \"x\"\n": "nudgee",
		"[patches]\nagents = 1\n":                            "'patches' must be a list of agents",
		"[[patches.rigs]]\nname = \"a\"\n":                   "'patches' must be a list of agents",
	} {
		files["den.toml"] = "include = [\"team.toml\"]\n" + text
		if _, err := workspace.Load(write(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestIncludeRefusesCirclesAndTheMissing(t *testing.T) {
	_, err := workspace.Load(write(t, map[string]string{
		"den.toml": "include = [\"a.toml\", \"gone.toml\"]\n",
		"a.toml":   "\ninclude = [\"den.toml\"]\n",
	}))
	if err == nil {
		t.Fatal("it loads")
	}
	for _, want := range []string{"a.toml:2: include 'den.toml' goes in a circle: den.toml → a.toml → den.toml", "den.toml:1: include 'gone.toml': "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in %v", want, err)
		}
	}
}

func TestFindWalksUp(t *testing.T) {
	path := write(t, map[string]string{"den.yaml": "", "a/b/c.txt": ""})
	got, err := workspace.Find(filepath.Join(filepath.Dir(path), "a", "b"))
	if err != nil || got != path {
		t.Errorf("Find = %q, %v", got, err)
	}
	if _, err := workspace.Find(t.TempDir()); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("nothing there: %v", err)
	}
	both := write(t, map[string]string{"den.yaml": "", "den.toml": ""})
	if _, err := workspace.Find(filepath.Dir(both)); fault.KindOf(err) != fault.Usage {
		t.Errorf("two there: %v", err)
	}
}

// Beside an installed claude, the examples have an agent that asks.
func TestExamplesAsk(t *testing.T) {
	for _, name := range []string{"shells", "team"} {
		text, err := workspace.Example(name, "w", true)
		if err != nil {
			t.Fatal(err)
		}
		a, err := load(t, write(t, map[string]string{"den.toml": text})).Agent("coder")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Argv(), " "); a.Approval != workspace.ApprovalAsk || a.Origin("approval").File == "" || !a.ByProtocol() && got != "claude --permission-mode default" {
			t.Errorf("%s: %q from %v: %s", name, a.Approval, a.Origin("approval"), got)
		}
		if a.ByProtocol() && a.Channel.Owner == "" {
			t.Errorf("%s: in its channels nobody decides for %s", name, a.Name)
		}
	}
}

func TestExampleLoadsAndNeedsNoAccount(t *testing.T) {
	text, err := workspace.Example("", "my dir", false)
	if err != nil {
		t.Fatal(err)
	}
	w := load(t, write(t, map[string]string{"den.toml": text}))
	if w.Name != "my-dir" || len(w.Agents) != 2 || len(w.Warnings) != 0 {
		t.Fatalf("%+v", w)
	}
	if got := strings.Join(w.Agents[0].Argv(), " "); got != "bash" {
		t.Errorf("greeter runs %q", got)
	}
	if got := w.Agents[1].Argv(); got[0] != "sh" || got[1] != "-c" {
		t.Errorf("ticker runs %q", got)
	}
}

func TestEveryPresetLoads(t *testing.T) {
	for _, want := range []string{"claude", "codex", "copilot", "gemini", "opencode", "cursor", "amp", "pi", "qwen", "shell"} {
		w := load(t, write(t, map[string]string{"den.yaml": "agents: [{name: a, provider: " + want + ", model: m" + map[string]string{"amp": ", approval: edits", "pi": ", approval: bypass"}[want] + "}]"}))
		if len(w.Agents[0].StartCommand) == 0 || w.Agents[0].Origin("start_command").Preset != want {
			t.Errorf("%s: %+v", want, w.Agents[0])
		}
	}
}

func TestCommandWords(t *testing.T) {
	for line, want := range map[string]string{
		`claude --x y`:     "claude|--x|y",
		`'a b' "c d" e\ f`: "a b|c d|e f",
		`echo "" x`:        "echo||x",
		`a | b`:            "sh|-c|a | b",
		`X=1 run`:          "sh|-c|X=1 run",
		`run --k=v`:        "run|--k=v",
		`echo "$HOME"`:     `sh|-c|echo "$HOME"`,
		`echo '$HOME'`:     "echo|$HOME",
	} {
		w := load(t, write(t, map[string]string{"den.yaml": "agents:\n- name: a\n  start_command: |-\n    " + line + "\n"}))
		if got := strings.Join(w.Agents[0].Argv(), "|"); got != want {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
	shell := workspace.Agent{StartCommand: []string{"sh", "-c", "a | b"}, Args: []string{"x"}}
	if got := strings.Join(shell.Argv("y"), "|"); got != `sh|-c|a | b "$@"|sh|x|y` {
		t.Errorf("through a shell: %s", got)
	}
}
