package realcli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// patience is for a real agent on a machine that has other things to do.
const patience = 2 * time.Minute

// run runs an agent to its end and returns what it printed.
func run(t *testing.T, h *realcli.Home, args ...string) (stdout string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := h.Run(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", r.Stdout, r.Stderr)
	return r.Stdout, r.Code
}

// calledNobody demands that an agent asked nobody but the stub, but for the
// hosts named, which it was not let through to.
func calledNobody(t *testing.T, stub *modelstub.Server, but ...string) {
	t.Helper()
	for _, target := range stub.Elsewhere() {
		if !slices.Contains(but, target) {
			t.Errorf("it called %s", target)
		}
	}
}

func script(stub *modelstub.Server, text, tool, input string) {
	stub.When(modelstub.All(modelstub.Is(text), modelstub.Offers(tool)), modelstub.Use(tool, input), modelstub.Say("The file ", "is made."))
}

func made(t *testing.T, h *realcli.Home) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(h.Work, "made")); err != nil {
		t.Errorf("the tool was not used: %v", err)
	}
}

func TestClaude(t *testing.T) {
	stub := modelstub.Start(t)
	h := realcli.Claude(t, stub)
	script(stub, "make the file", "Bash", `{"command":"touch made","description":"make a file"}`)
	out, code := run(t, h, "-p", "make the file", "--output-format", "json", "--dangerously-skip-permissions")
	var result struct {
		Result  string
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || result.IsError || result.Result != "The file is made." {
		t.Errorf("exit %d, %+v, %v", code, result, err)
	}
	made(t, h)
	r, err := stub.Await(t.Context(), modelstub.Contains("make the file"))
	if err != nil || r.Dialect != modelstub.Messages || !r.Stream || r.Header.Get("X-Api-Key") != h.Key || !slices.Contains(r.Tools, "Bash") || r.Text != "make the file" {
		t.Errorf("%v: %s %v %q %q", err, r.Dialect, r.Stream, r.Tools, r.Text)
	}
	calledNobody(t, stub)
}

func TestClaudeMeetsErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		reply  modelstub.Reply
		status float64
		says   string
	}{
		{"429", modelstub.Fail(429), 429, "rate"},
		{"500", modelstub.Fail(500), 500, "500"},
		{"529", modelstub.Fail(529), 529, "verloaded"},
		{"garbage", modelstub.Break(modelstub.Garbage), 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			h := realcli.Claude(t, stub)
			stub.Always(modelstub.Contains("hello"), c.reply)
			out, code := run(t, h, "-p", "hello", "--output-format", "json")
			var result map[string]any
			if err := json.Unmarshal([]byte(out), &result); err != nil {
				t.Fatal(err)
			}
			if code == 0 || result["is_error"] != true || !strings.Contains(out, c.says) {
				t.Errorf("exit %d, %s", code, out)
			}
			if status, ok := result["api_error_status"].(float64); ok && status != c.status {
				t.Errorf("the status is %v, want %v", status, c.status)
			}
		})
	}
}

// events reads an agent's output of one JSON object a line.
func events(t *testing.T, out string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(out) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

func TestCodex(t *testing.T) {
	stub := modelstub.Start(t)
	h := realcli.Codex(t, stub, "")
	script(stub, "make the file", "exec", `"text((await tools.exec_command({cmd: 'touch made'})).output)"`)
	out, code := run(t, h, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "make the file")
	var last map[string]any
	for _, e := range events(t, out) {
		if item, ok := e["item"].(map[string]any); ok && e["type"] == "item.completed" {
			last = item
		}
	}
	if code != 0 || last["type"] != "agent_message" || last["text"] != "The file is made." {
		t.Errorf("exit %d, %v", code, last)
	}
	made(t, h)
	r, err := stub.Await(t.Context(), modelstub.Contains("make the file"))
	if err != nil || r.Dialect != modelstub.Responses || r.Header.Get("Authorization") != "Bearer "+h.Key || !slices.Contains(r.Tools, "exec") {
		t.Errorf("%v: %s %q", err, r.Dialect, r.Tools)
	}
	calledNobody(t, stub)
}

func TestCodexMeetsErrors(t *testing.T) {
	for name, reply := range map[string]modelstub.Reply{
		"429": modelstub.Fail(429), "500": modelstub.Fail(500), "early": modelstub.Break(modelstub.Early), "error": modelstub.Break(modelstub.Error),
	} {
		t.Run(name, func(t *testing.T) {
			stub := modelstub.Start(t)
			h := realcli.Codex(t, stub, "")
			stub.Always(modelstub.Contains("hello"), reply)
			out, code := run(t, h, "exec", "--json", "--skip-git-repo-check", "hello")
			if code == 0 || !strings.Contains(out, "turn.failed") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

func TestOpenCode(t *testing.T) {
	stub := modelstub.Start(t)
	h := realcli.OpenCode(t, stub)
	// It quotes an argument with spaces.
	script(stub, `"make the file"`, "bash", `{"command":"touch made","description":"make a file"}`)
	h.Env = append(h.Env, `OPENCODE_PERMISSION={"*":"allow"}`)
	out, code := run(t, h, "run", "--format", "json", "make the file")
	said := ""
	for _, e := range events(t, out) {
		if part, ok := e["part"].(map[string]any); ok && e["type"] == "text" {
			said, _ = part["text"].(string)
		}
	}
	if code != 0 || said != "The file is made." {
		t.Errorf("exit %d, %q", code, said)
	}
	made(t, h)
	r, err := stub.Await(t.Context(), modelstub.Contains("make the file"))
	if err != nil || r.Dialect != modelstub.Chat || r.Header.Get("Authorization") != "Bearer "+h.Key {
		t.Errorf("%v: %s", err, r.Dialect)
	}
	calledNobody(t, stub)
}
