package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// kernelAgent is a coding agent that is the mind of a kernel's ticks.
type kernelAgent struct {
	name   string
	config string // system/agent_config.json
	home   func(t *testing.T, stub *modelstub.Server) *realcli.Home
	// offers is the name of the tool login, or of another that offers it.
	offers string
	use    func(tool string, arguments map[string]any) modelstub.Reply
	// shells are the agent's own tools that it must not have in a tick. Those
	// that it keeps are asked for, and denied.
	shells []string
	// adds is the most that the agent adds to the system prompt, in bytes. 0
	// means that it cannot be replaced.
	adds int
	// window is the model's context, in tokens, where the agent tells how full
	// it is while it works.
	window int
}

const kernelPrompt = "You are the mind of a test."

func useMCP(prefix string) func(string, map[string]any) modelstub.Reply {
	return func(tool string, arguments map[string]any) modelstub.Reply {
		return modelstub.Use(prefix+tool, mustJSON(arguments))
	}
}

var kernelAgents = []kernelAgent{
	{
		name: "claude", config: `{"runner": "claude", "model": "claude-opus-4-6"}`, offers: "mcp__agent__login", use: useMCP("mcp__agent__"),
		shells: []string{"Bash", "WebFetch", "WebSearch", "Task", "AskUserQuestion"}, adds: 500, window: 200_000,
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
	},
	{
		name: "codex", config: `{"runner": "codex"}`, offers: "exec", shells: []string{"shell", "exec_command"}, adds: 8000, window: 258_400,
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		use: func(tool string, arguments map[string]any) modelstub.Reply {
			return modelstub.Use("exec", mustJSON(fmt.Sprintf("text(JSON.stringify(await tools.mcp__agent__%s(%s)))", tool, mustJSON(arguments))))
		},
	},
	{
		name: "copilot", config: `{"runner": "copilot"}`, offers: "agent-login", use: useMCP("agent-"), shells: []string{"bash", "web_fetch"}, adds: 500,
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Copilot(t, stub) },
	},
	{
		name: "opencode", config: `{"runner": "acp", "command": ["opencode", "acp"]}`, offers: "agent_login", use: useMCP("agent_"),
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home {
			h := realcli.OpenCode(t, stub)
			h.Env = append(h.Env, `OPENCODE_PERMISSION={"bash":"ask","edit":"ask","agent_*":"ask"}`)
			return h
		},
	},
	{
		name: "gemini", config: `{"runner": "acp", "command": ["gemini", "--acp", "-m", "gemini-2.5-flash"]}`, offers: "mcp_agent_login", use: useMCP("mcp_agent_"),
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Gemini(t, stub) },
	},
}

// TestAgentKernel has real coding agents live through a tick: they log in, type
// into a terminal, wait, close it and end, all by den's tools.
func TestAgentKernel(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range kernelAgents {
		t.Run(a.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			w, _ := a.world(t, stub)
			m := &kernelMind{t: t, agent: a, types: "echo $((6*7)) in the terminal"}
			stub.Always(modelstub.Offers(a.offers), modelstub.Decide(m.reply))
			out, errOut, code := w.try("kernel", "tick", "demo", "-j")
			t.Logf("what the model heard:\n%s\n%s", strings.Join(m.heard(), "\n---\n"), errOut)
			if code != 0 || !strings.Contains(out, `"reason":"normal"`) || !strings.Contains(out, kernelWords) {
				t.Errorf("exit %d\n%s", code, out)
			}
			m.check(stub)
			story := w.do("kernel", "replay", "demo", "last")
			if !strings.Contains(story, "login") || !strings.Contains(story, "42 in the terminal") || !strings.Contains(story, kernelWords) {
				t.Errorf("the transcript:\n%s", story)
			}
			t.Logf("the transcript:\n%s", story)
		})
	}
}

// world is an instance whose mind the agent is, and its data repository.
func (a kernelAgent) world(t *testing.T, stub *modelstub.Server) (w *world, data string) {
	t.Helper()
	h := a.home(t, stub)
	w = newWorld(t)
	dend, err := exec.LookPath("dend")
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(slices.Clone(h.Env), "DEN_HOME="+w.home.Path, "DEN_RUN_DIR="+variable(w.env, "DEN_RUN_DIR"), "DEN_DEND="+dend, "PS1=$ ", "GORACE=atexit_sleep_ms=0")
	data = filepath.Join(h.Work, "data")
	w.do("kernel", "init", "demo", "--path", data)
	if err := errors.Join(
		os.WriteFile(filepath.Join(data, "system/agent_config.json"), []byte(a.config), 0o644),
		os.WriteFile(filepath.Join(data, "system/prompt.md"), []byte(kernelPrompt), 0o644),
		os.RemoveAll(filepath.Join(data, "system/hooks")),
	); err != nil {
		t.Fatal(err)
	}
	return w, data
}

// TestAgentKernelContext fills the context of real agents: at 70 % of their
// window they are told to finish, and at 90 % the tick ends, before the agent
// shortens the conversation.
func TestAgentKernelContext(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range kernelAgents {
		if a.window == 0 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			w, _ := a.world(t, stub)
			var mu sync.Mutex // guards the variables below
			step, told := 0, ""
			stub.Always(modelstub.Offers(a.offers), modelstub.Decide(func(r *modelstub.Request) modelstub.Reply {
				mu.Lock()
				defer mu.Unlock()
				told += strings.Join(r.Results, "\n")
				reply := a.use("wait", map[string]any{"timeout": 0})
				part := 80 // percent; some agents tell it when the tool runs already
				switch step++; step {
				case 1:
					part, reply = 60, a.use("login", map[string]any{})
				case 2, 3:
				default:
					part = 95
				}
				reply.Usage = modelstub.Usage{Input: a.window * part / 100, Output: 1}
				return reply
			}))
			out, errOut, code := w.try("kernel", "tick", "demo", "-j")
			mu.Lock()
			defer mu.Unlock()
			if code != 1 || !strings.Contains(out, `"reason":"context"`) {
				t.Errorf("exit %d after %d steps\n%s\n%s", code, step, out, errOut)
			}
			if !strings.Contains(told, "The tick must come to its end: 80 %") {
				t.Errorf("at 80 %% it was told %q", told)
			}
			t.Logf("%d steps, %s", step, out)
		})
	}
}

// variable is one of an environment.
func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if rest, ok := strings.CutPrefix(kv, name+"="); ok {
			value = rest
		}
	}
	return value
}

const kernelWords = "The answer is 42."

// kernelMind is the model.
type kernelMind struct {
	t     *testing.T
	agent kernelAgent
	types string // into the terminal

	mu   sync.Mutex // guards the fields below
	step int
	log  []string
	last *modelstub.Request
}

func (m *kernelMind) reply(r *modelstub.Request) modelstub.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(string(r.Body), "Tick 1 starting") {
		return modelstub.Say("a title") // it asks for one
	}
	m.last = r
	said := strings.Join(r.Results, "\n")
	m.log = append(m.log, said)
	want := func(part string) {
		if !strings.Contains(said, part) {
			m.t.Errorf("step %d: the tool answered %q, want %q", m.step, said, part)
		}
	}
	m.step++
	switch m.step {
	case 1:
		return m.agent.use("login", map[string]any{})
	case 2:
		want("Open terminals: 0")
		return m.agent.use("type", map[string]any{"tty": 0, "expect": "bash", "text": m.types})
	case 3:
		want("Keystrokes sent")
		return m.agent.use("wait", map[string]any{"until": "42 in"})
	case 4:
		want("42 in the terminal")
		return m.agent.use("close", map[string]any{"tty": 0})
	}
	want("Closed terminal 0")
	return modelstub.Say(kernelWords)
}

// check looks at what the model was told and given.
func (m *kernelMind) check(stub *modelstub.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		for _, r := range stub.Requests() {
			m.t.Logf("%s %s offers %v", r.Method, r.Path, r.Tools)
		}
		m.t.Fatal("the model was not asked")
	}
	for _, tool := range m.agent.shells {
		if slices.Contains(m.last.Tools, tool) || strings.Contains(string(m.last.Body), tool+"(args") {
			m.t.Errorf("the model may use %s", tool)
		}
	}
	if whole := m.last.System; m.agent.adds > 0 && (!strings.Contains(whole, kernelPrompt) || len(whole) > len(kernelPrompt)+m.agent.adds) {
		m.t.Errorf("the system prompt has %d bytes: %.2000q", len(whole), whole)
	}
	m.t.Logf("tools: %v", m.last.Tools)
}

func (m *kernelMind) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}
