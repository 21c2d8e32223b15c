package workspace_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/workspace"
)

func load(t *testing.T, path string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The example of the agent protocol's document loads as it stands there.
func TestCityExampleLoadsUnchanged(t *testing.T) {
	w := load(t, "testdata/city/city.toml")
	if w.Name != "my-city" || w.SessionTemplate != "gc-{{.City}}-{{.Agent}}" || w.Session.Provider != "native" {
		t.Errorf("workspace = %q %q %q", w.Name, w.SessionTemplate, w.Session.Provider)
	}
	a, err := w.Agent("worker")
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "my-project/worker" || a.Dir != filepath.Join(w.Dir, "my-project") {
		t.Errorf("agent %q in %q", a.Name, a.Dir)
	}
	// Its own command drops the preset's arguments: no flag stands twice.
	if got := a.Argv("hello"); !slices.Equal(got, []string{"claude", "--dangerously-skip-permissions", "hello"}) {
		t.Errorf("Argv = %q", got)
	}
	if a.Env.Values["GC_CUSTOM"] != "value" || a.Nudge != "Check your hook for new work." || a.PromptMode != "arg" {
		t.Errorf("env %v, nudge %q, mode %q", a.Env, a.Nudge, a.PromptMode)
	}
	h := a.Hints
	if h.ReadyPromptPrefix != "> " || h.ReadyDelayMs != 5000 || !slices.Equal(h.ProcessNames, []string{"claude", "node"}) || !h.EmitsPermissionWarning {
		t.Errorf("hints = %+v", h)
	}
	if !slices.Equal(h.SessionSetup, []string{"gc hook install {{.Session}}"}) || h.SessionSetupScript != filepath.Join(w.Dir, "scripts/setup.sh") ||
		h.OverlayDir != filepath.Join(w.Dir, "overlays/worker") || len(h.PreStart) != 1 {
		t.Errorf("hints = %+v", h)
	}
	if a.Origin("nudge").String() != "city.toml:13" || a.Origin("restart.window").String() != "default" || a.Origin("model_flag").String() != "preset claude" {
		t.Errorf("origins: %v %v %v", a.Origin("nudge"), a.Origin("restart.window"), a.Origin("model_flag"))
	}
	if len(w.Warnings) != 4 || !strings.Contains(strings.Join(w.Warnings, "\n"), "prompts/worker.md is not there") {
		t.Errorf("warnings = %q", w.Warnings)
	}
}

// The example of the agent harness's document loads as it stands there.
func TestChannelExampleLoadsUnchanged(t *testing.T) {
	w := load(t, "testdata/channels/agents.yaml")
	if w.Name != "spark" || w.Server != (workspace.Server{Name: "spark", Host: "localhost", Port: 6667}) {
		t.Errorf("workspace %q, server %+v", w.Name, w.Server)
	}
	want := workspace.Supervisor{Agent: "claude", Model: "claude-sonnet-4-6", Thinking: "medium", WindowSize: 20, EvalInterval: 5, EscalationThreshold: 3}
	if w.Supervisor != want {
		t.Errorf("supervisor = %+v", w.Supervisor)
	}
	if len(w.Agents) != 3 {
		t.Fatalf("%d agents", len(w.Agents))
	}
	a, codex, cline := w.Agents[0], w.Agents[1], w.Agents[2]
	if a.Name != "spark-culture" || a.Dir != "/home/user/project-a" || a.Provider != "claude" || a.Channel.Backend != "claude" ||
		a.Channel.Model != "claude-opus-4-6" || a.Channel.Thinking != "medium" || !slices.Equal(a.Channel.Channels, []string{"#general"}) {
		t.Errorf("%+v", a)
	}
	if got := codex.Argv(); !slices.Equal(got, []string{"codex", "--dangerously-bypass-approvals-and-sandbox", "--model", "o3"}) {
		t.Errorf("codex: %q", got)
	}
	if got := cline.Argv(); !slices.Equal(got, []string{"cline", "--acp"}) || cline.Channel.Model != "anthropic/claude-sonnet-4-6" {
		t.Errorf("cline: %q %q", got, cline.Channel.Model)
	}
	if cline.Origin("acp_command").String() != "agents.yaml:32" {
		t.Errorf("acp_command from %v", cline.Origin("acp_command"))
	}
}

func TestDefaultsOfAChannelAgent(t *testing.T) {
	w := load(t, write(t, map[string]string{"den.yaml": "server: {name: s}\nsupervisor: {model: m}\nagents:\n- nick: s-a\n  channels: ['#x']\n- nick: s-b\n  agent: acp\n"}))
	if w.Agents[0].Provider != "claude" || w.Supervisor.WindowSize != 20 || w.Supervisor.Agent != "claude" {
		t.Errorf("%+v %+v", w.Agents[0], w.Supervisor)
	}
	if got := w.Agents[1].Argv(); !slices.Equal(got, []string{"opencode", "acp"}) {
		t.Errorf("acp: %q", got)
	}
	if w.Keeper.PatrolInterval != 30*time.Second {
		t.Errorf("patrol %v", w.Keeper.PatrolInterval)
	}
}
