package vendors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/toolhook/vendors"
)

// What the programs told the hook, as it was recorded, one line of JSON for each
// use of a tool.
func recorded(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

var names = []string{"claude", "codex", "copilot"}

// The command of every recorded use is what the policy judges.
func TestRecordedCommands(t *testing.T) {
	for _, name := range names {
		for _, line := range recorded(t, name) {
			r, err := vendors.RequestOf(name, []byte(line))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Kind != permission.Execute || !strings.Contains("rm victim|touch ok|touch asked|cat victim", r.Command) || r.Command == "" || r.Dir != "/w" || r.Tool == "" || len(r.Input) == 0 {
				t.Errorf("%s: %+v of %s", name, r, line)
			}
		}
	}
}

func TestRequestOf(t *testing.T) {
	const patch = `*** Begin Patch\n*** Add File: new.go\n+x\n*** Update File: old.go\n*** Move to: ../moved.go\n@@\n*** Delete File: gone.go\n*** End Patch`
	for _, c := range []struct {
		vendor, tool, input string
		want                permission.Request
	}{
		{"claude", "Grep", `{"pattern":"/x"}`, permission.Request{Kind: permission.Read, Paths: []string{"."}, Text: "/x"}},
		{"claude", "Glob", `{"pattern":"**/*.go"}`, permission.Request{Kind: permission.Read, Paths: []string{"."}, Text: "**/*.go"}},
		{"claude", "Glob", `{"pattern":"../*"}`, permission.Request{Kind: permission.Read, Paths: []string{"../*"}, Text: "../*"}},
		{"claude", "Write", `{"file_path":"/w/a","content":"x"}`, permission.Request{Kind: permission.Edit, Paths: []string{"/w/a"}}},
		{"codex", "apply_patch", `{"command":"` + patch + `"}`, permission.Request{Kind: permission.Edit, Paths: []string{"new.go", "old.go", "../moved.go", "gone.go"}}},
		{"codex", "apply_patch", `"` + patch + `"`, permission.Request{Kind: permission.Edit, Paths: []string{"new.go", "old.go", "../moved.go", "gone.go"}}},
		{"codex", "apply_patch", `{"command":"no patch"}`, permission.Request{Kind: permission.Edit}},
		{"codex", "Bash", `{"command":"ls"}`, permission.Request{Kind: permission.Execute, Command: "ls"}},
		{"codex", "mcp__x__run", `{"command":"rm -r /"}`, permission.Request{Kind: permission.Execute, Command: "rm -r /"}},
		{"copilot", "create", `{"path":"/w/a","file_text":"x"}`, permission.Request{Kind: permission.Edit, Paths: []string{"/w/a"}}},
		{"copilot", "view", `"{\"path\":\"/etc/passwd\"}"`, permission.Request{Kind: permission.Read, Paths: []string{"/etc/passwd"}}},
		{"copilot", "web_fetch", `{"url":"https://example.org/"}`, permission.Request{Kind: permission.Fetch, URL: "https://example.org/"}},
		{"copilot", "unheard", `{"x":1}`, permission.Request{Kind: permission.Other}},
		{"copilot", "bash", `{"command":["a","b"]}`, permission.Request{Kind: permission.Execute}},
		{"copilot", "glob", `{"pattern":"/etc/*"}`, permission.Request{Kind: permission.Read, Paths: []string{"/etc/*"}, Text: "/etc/*"}},
	} {
		c.want.Tool, c.want.Input = c.tool, json.RawMessage(c.input)
		if c.want.Dir == "" {
			c.want.Dir = "/w"
		}
		line := `{"cwd":"/w","tool_name":"` + c.tool + `","tool_input":` + c.input + `}`
		if c.vendor == "copilot" {
			line = `{"cwd":"/w","toolName":"` + c.tool + `","toolArgs":` + c.input + `}`
		}
		got, err := vendors.RequestOf(c.vendor, []byte(line))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s %s:\n%+v, %v, want\n%+v", c.vendor, c.tool, c.input, got, err, c.want)
		}
	}
	for _, line := range []string{``, `{`, `[]`, `{}`, `{"cwd":"/w"}`, `{"tool_input":{"command":"ls"}}`} {
		if r, err := vendors.RequestOf("claude", []byte(line)); err == nil {
			t.Errorf("%q: %+v", line, r)
		}
	}
}

// Whatever a program tells, what is read of it names a tool and a kind, and never
// reads a command as less than a command.
func FuzzRequestOf(f *testing.F) {
	for _, name := range names {
		for _, line := range recorded(f, name) {
			f.Add(name, []byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r, err := vendors.RequestOf(name, data)
		if err != nil {
			return
		}
		if r.Tool == "" || r.Kind == "" || r.Command != "" && r.Kind != permission.Execute || r.Kind == permission.Read && len(r.Paths) == 0 {
			t.Errorf("%+v of %s", r, data)
		}
	})
}
