package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

func TestWorktree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "den.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
[defaults]
worktree_base = "main"

[[agents]]
name = "a"
start_command = "true"
worktree = true

[[agents]]
name = "b"
start_command = "true"
`)
	w := load(t, file)
	if a, b := w.Agents[0], w.Agents[1]; !a.Worktree || a.WorktreeBase != "main" || b.Worktree {
		t.Errorf("%v, %q, %v", a.Worktree, a.WorktreeBase, b.Worktree)
	}
	for text, want := range map[string]string{
		`worktree = "main"`:                                  "den.toml:4: 'worktree' must be true or false",
		`worktree_base = "--force"`:                          "den.toml:4: agent 'a': 'worktree_base' is a branch, a tag or a commit",
		`worktree_base = "a b"`:                              "den.toml:4: agent 'a': 'worktree_base' is a branch, a tag or a commit",
		"worktree = true\nsession_provider = \"kubernetes\"": "den.toml:4: agent 'a': 'worktree' does not go with runs_in = \"kubernetes\"",
	} {
		write("[[agents]]\nname = \"a\"\nstart_command = \"true\"\n" + text + "\n")
		if _, err := workspace.Load(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
