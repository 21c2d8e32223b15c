package realcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"den/internal/testkit/modelstub"
)

// Claude makes a home for Claude Code that has seen no folder and no key yet:
// it asks for both when it comes up in a terminal.
func Claude(t TB, stub *modelstub.Server) *Home {
	t.Helper()
	h := newHome(t, "claude", stub)
	h.Key = "sk-ant-stub-0123456789abcdef0123"
	h.Env = append(h.Env,
		"ANTHROPIC_BASE_URL="+stub.URL(), "ANTHROPIC_API_KEY="+h.Key,
		"IS_SANDBOX=1", // root may skip permissions then
		"CLAUDE_CODE_MAX_RETRIES=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
	)
	// Without this it looks for the vendor's host before all else, and ends.
	h.writeJSON(t, ".claude.json", map[string]any{"hasCompletedOnboarding": true, "theme": "dark"})
	return h
}

// CodexModel is one that codex knows and has no successor for.
const CodexModel = "gpt-6.1-sol"

// Codex makes a home for codex with the model given, or "" for CodexModel.
func Codex(t TB, stub *modelstub.Server, model string) *Home {
	t.Helper()
	if model == "" {
		model = CodexModel
	}
	h := newHome(t, "codex", stub)
	h.Key = "stub"
	h.Env = append(h.Env, "CODEX_HOME="+filepath.Join(h.Dir, ".codex"), "STUB_KEY="+h.Key)
	h.Write(t, ".codex/config.toml", fmt.Appendf(nil, codexConfig, model, stub.URL()+"/v1"))
	return h
}

const codexConfig = `model = %q
model_provider = "stub"
check_for_update_on_startup = false

[model_providers.stub]
name = "stub"
base_url = %q
env_key = "STUB_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 0
supports_websockets = false

[analytics]
enabled = false

[otel]
exporter = "none"

[features] # what fetches from elsewhere
apps = false
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false

[tui] # what makes screens differ
animations = false
show_tooltips = false
`

// OpenCode makes a home for opencode.
func OpenCode(t TB, stub *modelstub.Server) *Home {
	t.Helper()
	h := newHome(t, "opencode", stub)
	h.Key = "stub"
	h.Env = append(h.Env,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
	)
	h.pretendPlugins(t)
	h.writeJSON(t, ".config/opencode/opencode.json", map[string]any{
		"autoupdate": false, "share": "disabled", "model": "stub/stub-model", "small_model": "stub/stub-model",
		"provider": map[string]any{"stub": map[string]any{
			"npm":     "@ai-sdk/openai-compatible", // built in
			"name":    "Stub",
			"options": map[string]any{"baseURL": stub.URL() + "/v1", "apiKey": h.Key},
			"models":  map[string]any{"stub-model": map[string]any{"name": "Stub", "limit": map[string]any{"context": 128000, "output": 8192}}},
		}},
	})
	return h
}

// pretendPlugins makes opencode's directory look as if its library for plugins
// were installed. Otherwise opencode installs it from npm at every start, twice,
// whatever its settings, while its screen and its server come up.
func (h *Home) pretendPlugins(t TB) {
	t.Helper()
	h.Write(t, ".config/opencode/node_modules/.keep", nil)
	h.writeJSON(t, ".config/opencode/package-lock.json", map[string]any{
		"packages": map[string]any{"": map[string]any{"dependencies": map[string]string{"@opencode-ai/plugin": "*"}}},
	})
}

// Gemini makes a home for Gemini CLI that trusts every folder.
func Gemini(t TB, stub *modelstub.Server) *Home {
	t.Helper()
	h := newHome(t, "gemini", stub)
	h.Key = "stub"
	h.Env = append(h.Env, "GEMINI_API_KEY="+h.Key, "GOOGLE_GEMINI_BASE_URL="+stub.URL())
	h.writeJSON(t, ".gemini/settings.json", map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": map[string]any{"enabled": false}},
		"general":  map[string]any{"enableAutoUpdate": false, "maxAttempts": 1},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
	})
	return h
}

// Copilot makes a home for Copilot CLI, without an account. It asks whether to
// trust the folder.
func Copilot(t TB, stub *modelstub.Server) *Home {
	t.Helper()
	h := newHome(t, "copilot", stub)
	h.Key = "stub"
	h.Env = append(h.Env,
		"COPILOT_HOME="+filepath.Join(h.Dir, ".copilot"), "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		"COPILOT_PROVIDER_BASE_URL="+stub.URL()+"/v1", "COPILOT_PROVIDER_API_KEY="+h.Key, "COPILOT_MODEL=stub-model",
	)
	return h
}

// Result is what an agent printed, and its exit code.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs the agent to its end, without a terminal and without input. It leads
// a process group of its own, of which nothing is left.
func (h *Home) Run(ctx context.Context, args ...string) (Result, error) {
	return h.RunUntil(ctx, nil, args...)
}

// RunUntil is Run of an agent that gets an interrupt, as by Ctrl-C, when the
// channel is closed; nil never is. Its children do not get it.
func (h *Home) RunUntil(ctx context.Context, interrupt <-chan struct{}, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, h.Program, args...)
	cmd.Env, cmd.Dir = h.Env, h.Work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start agent: %w", err)
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-interrupt:
			_ = cmd.Process.Signal(os.Interrupt) // Best effort: it may have ended.
		case <-ended:
		}
	})
	err := cmd.Wait()
	close(ended)
	watching.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Best effort: mostly nobody is left.
	r := Result{Stdout: out.String(), Stderr: errOut.String(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("run agent %v: %w\n%s%s", args, errors.Join(ctx.Err(), err), r.Stdout, r.Stderr)
	}
	return r, nil
}
