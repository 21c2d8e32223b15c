package acceptance

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A harnessBackend is an agent that is driven by its protocol, and what differs
// between agents.
type harnessBackend struct {
	name    string   // of the agent and its program
	backend string   // in the workspace file
	command []string // of an ACP agent
	home    func(t *testing.T, stub *modelstub.Server) *realcli.Home

	tool  string // that the model has in every turn
	shell func(command string) modelstub.Reply

	quota modelstub.Reply // the API says that all is used up, for an hour
	full  modelstub.Reply // the API says that the conversation is too long
	// waits is that the agent tells how long to wait when all is used up.
	waits bool
	// stops is that the agent ends its turn when something was not allowed.
	stops bool
	// loses says why the agent does not always find its session again, or "".
	loses string
	// quiet says why a failure of the model is not seen: the agent tries again
	// by itself for longer than a test lasts. It is printed.
	quiet map[string]string
	// cannot says why a scenario is impossible with this agent. It is printed.
	cannot map[string]string
}

// usedUp is a limit of a plan that is lifted in an hour.
var usedUp = modelstub.Reply{Failure: &modelstub.Failure{Status: 429, Message: "used up", RetryAfter: time.Hour}}

// fakeBackends are driven in 'make test'.
var fakeBackends = []harnessBackend{
	{
		name: "claude", backend: "claude", tool: fakeTool, quota: usedUp, full: modelstub.Fail(413), waits: true,
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return fakeHome(t, stub, "claude") },
		shell: func(command string) modelstub.Reply { return useShell(fakeTool, command) },
	},
	{
		name: "codex", backend: "codex", tool: fakeTool, quota: usedUp, full: modelstub.Fail(413),
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return fakeHome(t, stub, "codex") },
		shell: func(command string) modelstub.Reply { return useShell(fakeTool, command) },
	},
}

// realBackends are driven in 'make test-agents'.
var realBackends = []harnessBackend{
	{
		name: "claude", backend: "claude", tool: "Bash", quota: usedUp,
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
		shell: func(command string) modelstub.Reply { return useShell("Bash", command) },
		full:  modelstub.Reply{Failure: &modelstub.Failure{Status: 400, Message: "prompt is too long: 250000 tokens > 200000 maximum"}},
	},
	{
		name: "codex", backend: "codex", tool: "exec", quota: usedUp,
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		shell: codexShell,
		full:  modelstub.Reply{Damage: modelstub.Error, Code: "context_length_exceeded"},
	},
	{
		name: "copilot", backend: "copilot", tool: "bash", quota: modelstub.Fail(429), full: modelstub.Fail(413),
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Copilot(t, stub) },
		shell: func(command string) modelstub.Reply { return useShell("bash", command) },
	},
	{
		name: "opencode", backend: "acp", command: []string{"opencode", "acp"}, tool: "bash", quota: modelstub.Fail(429), full: modelstub.Fail(413), stops: true,
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.OpenCode(t, stub) },
		shell: func(command string) modelstub.Reply { return useShell("bash", command) },
		quiet: map[string]string{
			"cut":      "it tries again five times within a minute, then ends its turn as if the half answer were whole",
			"overload": "it tries again by itself, and tells nobody",
			"quota":    "it tries again by itself, and tells nobody",
		},
		cannot: map[string]string{
			"auth":         "its error has no field that says so: the class is 'bug', and who asked is told at once",
			"context-full": "it shortens its conversation by itself",
		},
	},
	{
		// With a model given it does not ask another one first which to take.
		name: "gemini", backend: "acp", command: []string{"gemini", "--acp", "-m", "gemini-2.5-flash"}, tool: "run_shell_command",
		loses:  "it writes a session some time after it answers, and does not find one that was killed before",
		cannot: map[string]string{"ruled": "by protocol it does not say which command it would run: den asks whatever the rules say"},
		quota:  modelstub.Fail(429), full: modelstub.Fail(413),
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Gemini(t, stub) },
		shell: func(command string) modelstub.Reply { return useShell("run_shell_command", command) },
	},
}

// afterDenial is the answer to a task for which a command was not allowed.
func (b harnessBackend) afterDenial(word string) string {
	if b.stops {
		return "I could not answer: what I asked permission for was not allowed"
	}
	return "tried " + word
}

// version is the agent's own word for it.
func (b harnessBackend) version(t *testing.T, h *realcli.Home) string {
	t.Helper()
	cmd := exec.Command(h.Program, "--version")
	cmd.Env, cmd.Dir = h.Env, h.Work
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
