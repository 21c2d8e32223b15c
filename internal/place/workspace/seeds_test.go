package workspace_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/workspace"
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
	if len(w.Warnings) != 5 || !strings.Contains(w.Warnings[4], `city.toml:7: provider = "claude" is an old key: write agent = "claude" and drive = "screen"`) || !strings.Contains(strings.Join(w.Warnings, "\n"), "prompts/worker.md is not there") {
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
	if !reflect.DeepEqual(w.Supervisor, want) {
		t.Errorf("supervisor = %+v", w.Supervisor)
	}
	if len(w.Agents) != 3 {
		t.Fatalf("%d agents", len(w.Agents))
	}
	a, codex, cline := w.Agents[0], w.Agents[1], w.Agents[2]
	if a.Name != "spark-culture" || a.Dir != "/home/user/project-a" || a.Preset != "claude" || a.Channel.Backend != "claude" ||
		a.Channel.Model != "claude-opus-4-6" || a.Channel.Thinking != "medium" || !slices.Equal(a.Channel.Channels, []string{"#general"}) {
		t.Errorf("%+v", a)
	}
	if got := codex.Argv(); !slices.Equal(got, []string{"codex", "--model", "o3"}) {
		t.Errorf("codex: %q", got)
	}
	if got := cline.Argv(); !slices.Equal(got, []string{"cline", "--acp"}) || cline.Channel.Model != "anthropic/claude-sonnet-4-6" {
		t.Errorf("cline: %q %q", got, cline.Channel.Model)
	}
	if cline.Origin("acp_command").String() != "agents.yaml:32" {
		t.Errorf("acp_command from %v", cline.Origin("acp_command"))
	}
}

// The same in TOML is the same workspace.
func TestChannelExampleInTOML(t *testing.T) {
	yaml, toml := load(t, "testdata/channels/agents.yaml"), load(t, "testdata/channels/den.toml")
	if yaml.Name != toml.Name || yaml.Server != toml.Server || !reflect.DeepEqual(yaml.Supervisor, toml.Supervisor) || len(yaml.Agents) != len(toml.Agents) {
		t.Fatalf("%+v and %+v", yaml, toml)
	}
	for i := range yaml.Agents {
		a, b := &yaml.Agents[i], &toml.Agents[i]
		if a.Name != b.Name || a.Dir != b.Dir || a.Preset != b.Preset || !slices.Equal(a.Argv(), b.Argv()) || !reflect.DeepEqual(a.Channel, b.Channel) {
			t.Errorf("%+v and %+v", a, b)
		}
	}
}

// What the specification's tools write into such a file besides is understood,
// or is named with the reason why it has no effect.
func TestKeysOfTheSpecificationsTools(t *testing.T) {
	w := load(t, write(t, map[string]string{"agents.yaml": `
server: {name: spark, host: localhost, port: 6667}
supervisor: {model: m, prompt_override: Watch for loops.}
webhooks: {url: null, irc_channel: "#alerts", events: [agent_spiraling, agent_error]}
telemetry: {enabled: false, service_name: x, otlp_endpoint: "localhost:4317"}
presence: {heartbeat_interval_seconds: 30, stale_after_seconds: 90}
buffer_size: 100
poll_interval: 60
sleep_start: 23:00
sleep_end: "08:00"
agents:
- nick: spark-a
  agent: claude
  directory: .
  channels: ["#general"]
  thinking: high
  system_prompt: Be brief.
  turn_timeout_seconds: 900
  tags: [go]
  icon: null
  attention: {enabled: false}
- nick: spark-b
  agent: codex
  directory: .
  channels: ["#general"]
  buffer_size: 7
  archived: true
  archived_at: 2026-01-01
`}))
	a, b := w.Agents[0].Channel, w.Agents[1].Channel
	if a.BufferSize != 100 || a.SleepStart != "23:00" || a.SleepEnd != "08:00" || a.SystemPrompt != "Be brief." || a.TurnSilence != 15*time.Minute || a.Thinking != "high" {
		t.Errorf("%+v", a)
	}
	if b.BufferSize != 7 || b.SleepStart != "23:00" || !w.Agents[1].Suspended || w.Agents[0].Suspended {
		t.Errorf("%+v", b)
	}
	if w.Supervisor.Instructions != "Watch for loops." || w.Webhooks.Channel != "#alerts" || len(w.Webhooks.Events) != 2 {
		t.Errorf("%+v %+v", w.Supervisor, w.Webhooks)
	}
	said := strings.Join(w.Warnings, "\n")
	for _, key := range []string{"telemetry", "presence", "poll_interval", "attention", "archived_at"} {
		if strings.Count(said, "'"+key+"' has no effect: ") != 1 {
			t.Errorf("no warning of '%s' in:\n%s", key, said)
		}
	}
	if strings.Contains(said, "'tags'") || !slices.Equal(a.Tags, []string{"go"}) {
		t.Errorf("tags %q, and warnings:\n%s", a.Tags, said)
	}
}

// What cannot be meant is refused by its name, with what to write instead.
func TestRefusedKeysOfTheSpecificationsTools(t *testing.T) {
	for text, want := range map[string]string{
		"- {nick: s-a, agent: claude, token_budget: 1000}":                                        "'token_budget' in an agent is not taken: say for how long: budget.tokens_per_hour or budget.tokens_per_day",
		"- {suffix: a, agent: claude}":                                                            "'suffix' in an agent is not taken: write the whole name",
		"- {nick: s-a, agent: claude, sleep_start: '23:00'}":                                      "'sleep_start' and 'sleep_end' are given together",
		"- {nick: s-a, agent: claude, sleep_start: '23:00', sleep_end: late}":                     "'sleep_end' is a time of day such as",
		"- {nick: s-a, agent: claude, sleep_start: '23:00', sleep_end: '23:00'}":                  "would always sleep",
		"- {nick: s-a, agent: claude, buffer_size: -1}":                                           "'buffer_size' is negative",
		"- {nick: s-a, agent: claude, acp_comand: [x]}":                                           "unknown key 'acp_comand' in an agent, did you mean 'acp_command'?",
		"- {nick: s-a, agent: claude, turn_silence: 1m, turn_timeout_seconds: 60, channels: [x]}": "mean the same: keep one",
	} {
		_, err := workspace.Load(write(t, map[string]string{"agents.yaml": "agents:\n" + text + "\n"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestHintAtTheSpecificationsFile(t *testing.T) {
	path := write(t, map[string]string{"agents.yaml": "agents: []\n"})
	if _, err := workspace.Find(filepath.Dir(path)); !strings.Contains(fault.HintOf(err), "-f agents.yaml") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

// A supervisor that could judge nothing is refused; one that speaks ACP has the
// command that agents have.
func TestSupervisors(t *testing.T) {
	agents := "\nagents:\n- {nick: s-a, agent: claude}\n"
	for text, want := range map[string]string{
		"{agent: claud, model: m}":            "agents.yaml:1: 'supervisor.agent' is 'claud'; it must be one of rules, claude, codex, copilot, acp, script, did you mean 'claude'?",
		"{agent: script}":                     "needs 'supervisor.command'",
		"{agent: rules, model: m}":            "'supervisor.agent' is 'rules', which has neither a model nor a command",
		"{agent: rules, command: [opencode]}": "'supervisor.agent' is 'rules', which has neither a model nor a command",
	} {
		_, err := workspace.Load(write(t, map[string]string{"agents.yaml": "supervisor: " + text + agents}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]struct {
		command []string
		mind    bool
	}{
		"{agent: rules}":                           {nil, false},
		"{agent: codex}":                           {nil, false}, // of which model, nobody says
		"{model: m}":                               {nil, true},
		"{agent: acp}":                             {nil, false},
		"{agent: acp, model: m}":                   {[]string{"opencode", "acp"}, true},
		"{agent: acp, command: [gemini, --acp]}":   {[]string{"gemini", "--acp"}, true},
		"{agent: acp, acp_command: [qwen, --acp]}": {[]string{"qwen", "--acp"}, true},
		"{agent: script, command: [./judge]}":      {[]string{"./judge"}, true},
	} {
		w := load(t, write(t, map[string]string{"agents.yaml": "supervisor: " + text + agents}))
		if s := w.Supervisor; !slices.Equal(s.Command, want.command) || s.IsMind() != want.mind {
			t.Errorf("%s: %+v, a mind: %v", text, s, s.IsMind())
		}
		warned := slices.ContainsFunc(w.Warnings, func(line string) bool { return strings.Contains(line, "'supervisor.model' is missing") })
		if agent := w.Supervisor.Agent; warned != (agent != "rules" && !want.mind) {
			t.Errorf("%s: %q", text, w.Warnings)
		}
	}
}

func TestDefaultsOfAChannelAgent(t *testing.T) {
	w := load(t, write(t, map[string]string{"den.yaml": "server: {name: s}\nsupervisor: {model: m}\nagents:\n- nick: s-a\n  channels: ['#x']\n- nick: s-b\n  agent: acp\n"}))
	if w.Agents[0].Preset != "claude" || w.Supervisor.WindowSize != 20 || w.Supervisor.Agent != "claude" {
		t.Errorf("%+v %+v", w.Agents[0], w.Supervisor)
	}
	if got := w.Agents[1].Argv(); !slices.Equal(got, []string{"opencode", "acp"}) {
		t.Errorf("acp: %q", got)
	}
	if w.Keeper.PatrolInterval != 30*time.Second {
		t.Errorf("patrol %v", w.Keeper.PatrolInterval)
	}
}
