package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// mcpAgent is a coding agent that uses den's terminals by MCP.
type mcpAgent struct {
	name   string
	home   func(t *testing.T, stub *modelstub.Server) *realcli.Home
	add    func(t *testing.T, h *realcli.Home) // adds den to its servers
	args   []string                            // before the prompt
	offers string                              // a tool by which it uses den's
	// search, or "", is what a model looks for first: Claude Code loads tools of
	// MCP when they are searched for.
	search string
	use    func(tool string, arguments map[string]any) modelstub.Reply
}

// toolSearch is Claude Code's tool that loads others.
const toolSearch = "ToolSearch"

var mcpAgents = []mcpAgent{
	{
		name: "claude", args: []string{"--dangerously-skip-permissions", "-p"}, offers: toolSearch, search: `{"query":"select:mcp__den__run,mcp__den__answer","max_results":5}`,
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
		add: func(t *testing.T, h *realcli.Home) {
			runAgent(t, h, "mcp", "add", "--scope", "user", "den", "--", "den", "mcp")
		},
		use: func(tool string, arguments map[string]any) modelstub.Reply {
			return modelstub.Use("mcp__den__"+tool, mustJSON(arguments))
		},
	},
	{
		name: "opencode", args: []string{"run"}, offers: "den_run",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home {
			h := realcli.OpenCode(t, stub)
			h.Env = append(h.Env, `OPENCODE_PERMISSION={"*":"allow"}`)
			return h
		},
		add: func(t *testing.T, h *realcli.Home) {
			h.Write(t, ".config/opencode/config.json", []byte(`{"mcp":{"den":{"type":"local","command":["den","mcp"]}}}`))
		},
		use: func(tool string, arguments map[string]any) modelstub.Reply {
			return modelstub.Use("den_"+tool, mustJSON(arguments))
		},
	},
	{
		name: "codex", args: []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, offers: "exec",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		add: func(t *testing.T, h *realcli.Home) {
			args := []string{"mcp", "add", "den"}
			for _, kv := range h.Env { // codex hands few variables on
				if strings.HasPrefix(kv, "DEN_") {
					args = append(args, "--env", kv)
				}
			}
			runAgent(t, h, append(args, "--", "den", "mcp")...)
		},
		use: func(tool string, arguments map[string]any) modelstub.Reply {
			return modelstub.Use("exec", mustJSON(fmt.Sprintf("text(JSON.stringify(await tools.mcp__den__%s(%s)))", tool, mustJSON(arguments))))
		},
	},
	{
		name: "gemini", args: []string{"-m", "gemini-2.5-flash", "--yolo", "-p"}, offers: "mcp_den_run", use: useMCP("mcp_den_"),
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Gemini(t, stub) },
		add: func(t *testing.T, h *realcli.Home) {
			runAgent(t, h, "mcp", "add", "-s", "user", "den", "den", "mcp")
		},
	},
	{
		name: "copilot", args: []string{"--allow-all-tools", "-p"}, offers: "den-run", use: useMCP("den-"),
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Copilot(t, stub) },
		add: func(t *testing.T, h *realcli.Home) {
			runAgent(t, h, "mcp", "add", "den", "--", "den", "mcp")
		},
	},
}

// runAgent runs a command of the agent's that must succeed.
func runAgent(t *testing.T, h *realcli.Home, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if r, err := h.Run(ctx, args...); err != nil || r.Code != 0 {
		t.Fatalf("%v: exit %d, %v\n%s%s", args, r.Code, err, r.Stdout, r.Stderr)
	}
}

// begin gives an agent a home, a model and den.
func (a mcpAgent) begin(t *testing.T) (w *world, h *realcli.Home, stub *modelstub.Server) {
	t.Helper()
	stub = modelstub.Start(t)
	h = a.home(t, stub)
	w = newWorld(t)
	for _, kv := range w.env {
		if strings.HasPrefix(kv, "DEN_") || strings.HasPrefix(kv, "GORACE=") {
			h.Env = append(h.Env, kv)
		}
	}
	h.Env = append(h.Env, "PATH="+filepath.Dir(w.den)+":"+h.Getenv("PATH"))
	a.add(t, h)
	return w, h, stub
}

// TestAgentMCP gives real coding agents den's terminals by MCP, as docs/mcp.md
// says, and has them run what asks a question, and answer it.
func TestAgentMCP(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range mcpAgents {
		t.Run(a.name, func(t *testing.T) {
			w, h, stub := a.begin(t)
			const prompt = "ask me whether to go on"
			m := &mcpMind{t: t, agent: a}
			stub.Always(modelstub.All(modelstub.Offers(a.offers), isTask(prompt)), modelstub.Decide(m.reply))
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			r, err := h.Run(ctx, append(slices.Clone(a.args), prompt)...)
			t.Logf("what the model heard:\n%s", strings.Join(m.heard(), "\n"))
			if err != nil || r.Code != 0 || !strings.Contains(r.Stdout, lastWords) {
				t.Fatalf("exit %d, %v\n%s\n%s", r.Code, err, r.Stdout, r.Stderr)
			}
			if left := w.ask("ls")["sessions"].([]any); len(left) != 0 {
				t.Errorf("the agent is gone, and left %v", left)
			}
			if all := w.ask("ls", "--all")["sessions"].([]any); len(all) != 1 {
				t.Errorf("the agent used %v", all)
			}
		})
	}
}

// TestAgentMCPCancel interrupts real coding agents in the middle of a call: the
// command ends, and the terminal.
func TestAgentMCPCancel(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range mcpAgents {
		t.Run(a.name, func(t *testing.T) {
			w, h, stub := a.begin(t)
			const prompt = "begin something long"
			fifo := filepath.Join(t.TempDir(), "begun")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			replies := []modelstub.Reply{a.use("run", map[string]any{"code": "echo here > " + fifo + "; sleep 1000", "timeout": 900})}
			if a.search != "" {
				replies = append([]modelstub.Reply{modelstub.Use(toolSearch, a.search)}, replies...)
			}
			stub.When(modelstub.All(modelstub.Offers(a.offers), isTask(prompt)), replies...)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			begun := make(chan struct{})
			var reading sync.WaitGroup
			reading.Go(func() {
				defer close(begun)
				if _, err := os.ReadFile(fifo); err != nil {
					t.Error(err)
				}
			})
			r, err := h.RunUntil(ctx, begun, append(slices.Clone(a.args), prompt)...)
			if f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				f.Close() // nobody wrote: the reader ends
				t.Error("the call was not made")
			}
			reading.Wait()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, r.Stdout, r.Stderr)
			}
			t.Logf("exit %d", r.Code)
			w.awaitNoSessions(t)
		})
	}
}

// mcpMind is the model behind an agent: it runs code that asks, answers, and
// tells how that ended.
type mcpMind struct {
	t     *testing.T
	agent mcpAgent

	mu       sync.Mutex // guards the fields below
	searched bool
	step     int
	log      []string
}

const lastWords = "It went on, with exit code 7."

func (m *mcpMind) reply(r *modelstub.Request) modelstub.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	said := strings.Join(r.Results, "\n")
	m.log = append(m.log, said)
	if m.agent.search != "" && !m.searched {
		m.searched = true
		return modelstub.Use(toolSearch, m.agent.search)
	}
	m.step++
	switch m.step {
	case 1:
		return m.agent.use("run", map[string]any{"code": `read -p "Go on? " a; echo "said $a"; (exit 7)`})
	case 2:
		if !strings.Contains(said, "asking") || !strings.Contains(said, "Go on?") {
			m.t.Errorf("run answered %q", said)
		}
		return m.agent.use("answer", map[string]any{"text": "yes"})
	}
	if !strings.Contains(said, "said yes") || !strings.Contains(said, "exit code 7") && !strings.Contains(said, `"exit_code":7`) {
		m.t.Errorf("answer answered %q", said)
	}
	return modelstub.Say(lastWords)
}

// heard are the results of the tools so far.
func (m *mcpMind) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}
