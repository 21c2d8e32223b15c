package tick

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"den/internal/agent/permission"
	"den/internal/ticks/instance"
	"den/internal/ticks/registry"
)

// In a tick nobody is asked: the agent has its own tools and the files of its
// repository, and nothing else.
func TestPolicy(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(data, "out")); err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string {
		return map[string]string{"HOME": root, "XDG_STATE_HOME": data + "/state"}[key]
	}
	in, err := instance.Open(registry.Instance{Name: "demo", Path: data}, getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ask, err := (&tick{o: Options{Instance: in, Getenv: getenv, Log: slog.New(slog.DiscardHandler)}}).policy()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		r     permission.Request
		allow bool
	}{
		{permission.Request{Tool: "mcp__agent__type", Kind: permission.Other}, true},
		{permission.Request{Tool: "mcp__agent", Kind: permission.Other}, true}, // codex
		{permission.Request{Tool: "agent_login", Kind: permission.Other}, true},
		{permission.Request{Tool: "mcp__other__type", Kind: permission.Other}, false},
		{permission.Request{Tool: "Read", Kind: permission.Read, Paths: []string{"notes/journal.md"}}, true},
		{permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: []string{data + "/system/hooks/pre-tick/10-new"}}, true},
		{permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: []string{"../elsewhere"}}, false},
		{permission.Request{Tool: "Read", Kind: permission.Read, Paths: []string{"/etc/passwd"}}, false},
		{permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: []string{"out/elsewhere"}}, false}, // by a link
		{permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: []string{in.Dir.Path + "/tick.json"}}, false},
		{permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: []string{".git/config"}}, false},
		{permission.Request{Tool: "Bash", Kind: permission.Execute, Command: "ls"}, false},
		{permission.Request{Tool: "WebFetch", Kind: permission.Fetch, URL: "https://example.org"}, false},
		{permission.Request{Tool: "AskUserQuestion", Kind: permission.Question}, false},
		{permission.Request{Tool: "TodoWrite", Kind: permission.Think}, true},
		{permission.Request{Tool: "Skill", Kind: permission.Other}, true},
	} {
		d := ask(t.Context(), tt.r)
		if d.Allow != tt.allow || !d.Allow && d.Reason == "" {
			t.Errorf("%s %s %v: %+v", tt.r.Tool, tt.r.Command, tt.r.Paths, d)
		}
	}
}
