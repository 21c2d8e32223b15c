package acceptance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// inspector is the command line of the MCP inspector, a client that others
// wrote. Each call is a client of its own.
type inspector struct {
	world   *world
	program string
	server  []string // how it reaches den
}

// TestMCPInspector lists and calls every tool with the MCP inspector, over
// stdio and HTTP. 'make test-mcp' installs it.
func TestMCPInspector(t *testing.T) {
	program := os.Getenv("DEN_MCP_INSPECTOR")
	if program == "" {
		need.Apart(t, "the MCP inspector is not installed: 'make test-mcp' installs and uses it")
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		file := filepath.Join(t.TempDir(), "servers.json")
		config := mustJSON(map[string]any{"mcpServers": map[string]any{"den": map[string]any{
			"command": w.den, "args": []string{"mcp", "--use-others"}, "env": denVariables(w.env),
		}}})
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		inspector{world: w, program: program, server: []string{"--config", file, "--server", "den"}}.expectEveryTool(t)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		url, token := w.serveMCP(t, "--use-others")
		inspector{world: w, program: program, server: []string{url, "--transport", "http", "--header", "Authorization: Bearer " + token}}.expectEveryTool(t)
	})
}

// denVariables are the variables of an environment that den reads.
func denVariables(env []string) map[string]string {
	vars := map[string]string{}
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(key, "DEN_") || slices.Contains([]string{"HOME", "PATH", "SHELL", "XDG_STATE_HOME", "GORACE", "PS1"}, key) {
			vars[key] = value
		}
	}
	return vars
}

// serveMCP serves HTTP until the test ends, and returns the address and the
// token.
func (w *world) serveMCP(t *testing.T, args ...string) (url, token string) {
	t.Helper()
	cmd := exec.Command(w.den, append([]string{"mcp", "--http", "-j"}, args...)...)
	cmd.Env = w.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil || words.Len() > 0 {
			t.Errorf("den mcp --http: %v\n%s", err, &words)
		}
	})
	var printed struct {
		URL       string `json:"url"`
		TokenFile string `json:"token_file"`
	}
	if err := json.NewDecoder(out).Decode(&printed); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(printed.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	return printed.URL, strings.TrimSpace(string(raw))
}

// ask makes one request and returns the result.
func (i inspector) ask(t *testing.T, method string, args ...string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.program, slices.Concat([]string{"--cli"}, i.server, []string{"--method", method}, args)...)
	cmd.Env = i.world.env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", method, args, err, &out, &errOut)
	}
	var v map[string]any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", method, args, err, &out, &errOut)
	}
	return v
}

// call calls a tool, whose answer must have these words.
func (i inspector) call(t *testing.T, tool, words string, args ...string) {
	t.Helper()
	given := []string{"--tool-name", tool}
	for _, arg := range args {
		given = append(given, "--tool-arg", arg)
	}
	if r := mustJSON(i.ask(t, "tools/call", given...)); !strings.Contains(r, words) || strings.Contains(r, `"isError":true`) {
		t.Errorf("%s %v: %s", tool, args, r)
	}
}

func (i inspector) expectEveryTool(t *testing.T) {
	w := i.world
	var names []string
	for _, tool := range i.ask(t, "tools/list")["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "answer close history keys list next open run screenshot snapshot type wait" {
		t.Errorf("tools: %s", got)
	}
	i.call(t, "run", `hello`, "code=echo hello")
	w.awaitNoSessions(t) // over HTTP, the inspector does not say goodbye
	i.call(t, "open", `"session":"work"`, "name=work", "keep=true", `command=["bash","--norc"]`)
	i.call(t, "run", `"status":"asking"`, "session=work", "code=read -p 'sure? ' a; echo said $a")
	i.call(t, "answer", `said yes`, "session=work", "text=yes")
	i.call(t, "run", `"exit_code":7`, "session=work", "code=(exit 7)")
	i.call(t, "type", `"seq"`, "session=work", "text=echo ty''ped", "enter=true")
	i.call(t, "wait", `"matched":true`, "session=work", "text=typed")
	i.call(t, "keys", `"seq"`, "session=work", `keys=["C-l"]`)
	i.call(t, "snapshot", `"cols":120`, "session=work")
	i.call(t, "screenshot", `"mimeType":"image/png"`, "session=work")
	i.call(t, "history", `"lines"`, "session=work", "lines=20")
	i.call(t, "list", `"session":"work"`)
	if r := mustJSON(i.ask(t, "resources/list")); !strings.Contains(r, "den://terminal/work/screen") {
		t.Errorf("resources: %s", r)
	}
	i.call(t, "close", `"session":"work"`, "session=work")
	w.awaitNoSessions(t)
}

// awaitNoSessions waits until no session is active.
func (w *world) awaitNoSessions(t *testing.T) {
	t.Helper()
	var left []any
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		if left = w.ask("ls")["sessions"].([]any); len(left) == 0 {
			return
		}
	}
	t.Errorf("left are %v", left)
}
