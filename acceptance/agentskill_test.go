package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A skillAgent is a coding agent that finds den's skill by itself.
type skillAgent struct {
	name  string
	home  func(t *testing.T, stub *modelstub.Server) *realcli.Home
	args  []string // before the prompt
	shell string   // the tool that runs commands

	run       func(command string) modelstub.Reply
	escalate  func(command string) modelstub.Reply // runs it outside of the agent's sandbox; nil where it has none
	skillTool string                               // that reads a skill; without it the shell reads the file that it lists (opencode's tool wants ripgrep)
}

var skillAgents = []skillAgent{
	{
		name: "claude", args: []string{"--dangerously-skip-permissions", "-p"}, shell: "Bash",
		home:      func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
		run:       func(command string) modelstub.Reply { return useShell("Bash", command) },
		skillTool: "Skill",
	},
	{
		name: "opencode", args: []string{"run"}, shell: "bash",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home {
			h := realcli.OpenCode(t, stub)
			h.Env = append(h.Env, `OPENCODE_PERMISSION={"*":"allow"}`)
			return h
		},
		run: func(command string) modelstub.Reply { return useShell("bash", command) },
	},
	{
		name: "codex", args: []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, shell: "exec",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		run:  codexShell, escalate: codexEscalated,
	},
}

func useShell(tool, command string) modelstub.Reply {
	return modelstub.Use(tool, mustJSON(map[string]string{"command": command, "description": "use den"}))
}

// codexShell runs a command as codex's newer models do: by a program.
func codexShell(command string) modelstub.Reply { return codexProgram(command, "") }

// codexEscalated asks to run a command outside of codex's sandbox.
func codexEscalated(command string) modelstub.Reply {
	return codexProgram(command, `, sandbox_permissions: "require_escalated", justification: "it talks with the harness"`)
}

func codexProgram(command, more string) modelstub.Reply {
	const longest = 30_000 // milliseconds that codex waits for a command
	return modelstub.Use("exec", mustJSON(fmt.Sprintf("text((await tools.exec_command({cmd: %s, yield_time_ms: %d%s})).output)", mustJSON(command), longest, more)))
}

// skillRoots are codex's short names of directories.
var skillRoots = regexp.MustCompile("`(r\\d+)` = `([^`]+)`")

// listedSkill is the file that a request names as a skill, or "".
func listedSkill(r *modelstub.Request, name string) string {
	file := string(regexp.MustCompile(`[^\s"\\():<>]*/` + name + `/SKILL\.md`).Find(r.Body))
	for _, root := range skillRoots.FindAllStringSubmatch(string(r.Body), -1) {
		if rest, found := strings.CutPrefix(file, root[1]+"/"); found {
			return filepath.Join(root[2], rest)
		}
	}
	return file
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of strings can be written
	}
	return string(text)
}

// reads is how a model reads one of den's skills.
func (a skillAgent) reads(r *modelstub.Request, name string) modelstub.Reply {
	if a.skillTool != "" {
		return modelstub.Use(a.skillTool, mustJSON(map[string]string{"skill": name}))
	}
	return a.run("cat '" + listedSkill(r, name) + "'")
}

// TestAgentSkill gives real coding agents den's skill, as 'den skills install'
// does, and nothing else about den. The model behind them uses only verbs and
// flags that the skill text names, and decides by what den answers.
func TestAgentSkill(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range skillAgents {
		t.Run(a.name, func(t *testing.T) {
			t.Run("install", func(t *testing.T) {
				t.Parallel()
				r := newSkillRun(t, a)
				p := newPackage(t)
				said := r.do(t, p.prompt(), p)
				p.expectInstalled(t, said)
				expectNowhere(t, r.world.home.Path, adminPassword)
			})
			t.Run("ssh", func(t *testing.T) {
				t.Parallel()
				r := newSkillRun(t, a)
				f := newFarService(t)
				said := r.do(t, f.prompt(), f)
				f.expectRuns(t, said)
			})
		})
	}
}

// skillRun is an agent in a home of its own, with den and its skill.
type skillRun struct {
	agent skillAgent
	stub  *modelstub.Server
	home  *realcli.Home
	world *world
}

func newSkillRun(t *testing.T, a skillAgent) *skillRun {
	t.Helper()
	stub := modelstub.Start(t)
	h := a.home(t, stub)
	w := newWorld(t)
	for _, kv := range w.env {
		if strings.HasPrefix(kv, "DEN_") || strings.HasPrefix(kv, "GORACE=") {
			h.Env = append(h.Env, kv)
		}
	}
	path := filepath.Dir(w.den) + ":" + h.Getenv("PATH")
	h.Env = append(h.Env, "PATH="+path)
	h.Write(t, ".profile", []byte("PATH="+path+"\n")) // codex's shell is one of a login
	w.env = slices.Clone(h.Env)
	w.do("skills", "install")
	return &skillRun{agent: a, stub: stub, home: h, world: w}
}

// do gives the agent a task and returns what it printed.
func (r *skillRun) do(t *testing.T, prompt string, task task) string {
	t.Helper()
	m := &mind{t: t, agent: r.agent, task: task, skill: skillBody(t, filepath.Join(r.home.Dir, ".claude/skills/den/SKILL.md"))}
	r.stub.Always(modelstub.All(modelstub.Offers(r.agent.shell), isTask(prompt)), modelstub.Decide(m.reply))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	result, err := r.home.Run(ctx, append(slices.Clone(r.agent.args), prompt)...)
	t.Logf("what the model did:\n%s", strings.Join(m.done(), "\n"))
	if err != nil || result.Code != 0 {
		t.Fatalf("exit %d, %v\n%s\n%s", result.Code, err, result.Stdout, result.Stderr)
	}
	if left := r.world.ask("ls")["sessions"].([]any); len(left) != 0 {
		t.Errorf("the skill says to kill what was started; left are %v", left)
	}
	return result.Stdout
}

// expectNowhere demands that no file below a directory has these words.
func expectNowhere(t *testing.T, dir, words string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), words) {
			t.Errorf("%s has %q", path, words)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// isTask matches the requests of a conversation that began with the prompt,
// and not those for its title.
func isTask(prompt string) modelstub.Match {
	return func(r *modelstub.Request) bool {
		return hasString(r.Body, func(s string) bool { return strings.Trim(strings.TrimSpace(s), `"`) == prompt })
	}
}

// skillBody is a skill's text without its head, which agents keep to
// themselves.
func skillBody(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	if !found {
		t.Fatalf("%s has no head", file)
	}
	return strings.TrimSpace(body)
}

// hasString reports whether a JSON text has a string, at any depth, for which
// f is true.
func hasString(text []byte, f func(string) bool) bool {
	var v any
	return json.Unmarshal(text, &v) == nil && anyString(v, f)
}

func anyString(v any, f func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return anyString(inner, f) })
	case map[string]any:
		for _, inner := range v {
			if anyString(inner, f) {
				return true
			}
		}
	}
	return false
}
