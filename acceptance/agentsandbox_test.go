package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/place/sandbox"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// Real coding agents that ask nobody, in a sandbox: they work in their
// directory, and a model that has them read a key gets none.
func TestAgentSandboxes(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range stateAgents {
		t.Run(a.name, func(t *testing.T) { testSandboxedAgent(t, a) })
	}
}

func testSandboxedAgent(t *testing.T, a stateAgent) {
	stub := modelstub.Start(t)
	h := a.home(t, stub)
	if a.name == "opencode" {
		h = realcli.OpenCode(t, stub) // without the permissions of other tests
	}
	h.Write(t, "private/notes", []byte("SECRET\n"))
	says := func(text string) modelstub.Match {
		return modelstub.All(modelstub.Is(text), modelstub.Offers(a.tool))
	}
	run := strings.Replace(a.input, "touch %s", "cat "+filepath.Join(h.Dir, "private/notes")+" >stolen 2>said; truncate -s 1 ran", 1)
	run = strings.Replace(run, ", sandbox_permissions: 'require_escalated', justification: 'to try'", "", 1)
	stub.When(says("run it"), modelstub.Use(a.tool, run), modelstub.Say("That was it."))
	config := agentConfig(realAgent{name: a.name, approval: "bypass"}, h)
	if a.name == "opencode" { // it would install its library for plugins from npm into a directory of its own
		config += "[defaults]\nsandbox = { write = [\"" + filepath.Join(h.Dir, ".config/opencode") + "\"] }\n"
	} else {
		config += "[defaults]\nsandbox = true\n"
	}
	if a.name == "gemini" { // without a model it asks another one first which to take
		config += "[providers.gemini]\nmodel = \"gemini-2.5-flash\"\n"
	}
	k := keepWorkspace(t, a.name, h, config)
	if out, errOut, code := k.try("up", "--wait", "-t", "2m"); code != 0 || strings.Contains(errOut, "warning") {
		t.Fatalf("up: exit %d\n%s%s", code, out, errOut)
	}
	k.do("agent", "nudge", a.name, "run it", "-t", "3m")
	if asks, done := k.outcome(filepath.Join(h.Work, "ran"), a.deny); asks || !done {
		t.Fatalf("asked %v, done %v\n%s", asks, done, k.screen())
	}
	k.ends("That was it.")
	stolen, err := os.ReadFile(filepath.Join(h.Work, "stolen"))
	if err != nil || len(stolen) > 0 {
		t.Errorf("it read %q, %v", stolen, err)
	}
	if s := k.status(); len(s.Sandbox) == 0 || !strings.Contains(s.Sandbox[0], "Landlock") {
		t.Errorf("ps says %q", s.Sandbox)
	}
	if _, err := sandbox.Load(k.status().SandboxDir); err != nil {
		t.Error(err)
	}
	k.do("down", "-t", "1m")
	k.leavesNothing()
}
