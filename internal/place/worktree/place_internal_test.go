package worktree

import (
	"os/exec"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

func TestComponents(t *testing.T) {
	need.Program(t, "git")
	names := []string{
		"coder", "dir/coder", "dir--coder", "dir-/coder", "a/b/c", "a", "a.lock", "a.LOCK", "worker-1", "a..b", ".a", "-a", "a.", "ä", "a b", "@", "a@{b", "",
		strings.Repeat("long", 40), "a-x0123456789", "A_b.c", "..", "a//b",
	}
	seen := map[string]string{}
	for _, name := range names {
		c := component(name)
		if other, ok := seen[c]; ok {
			t.Errorf("%q and %q are both %q", name, other, c)
		}
		seen[c] = name
		if strings.ContainsAny(c, "/\\") || len(c) > maxComponent {
			t.Errorf("%q is %q", name, c)
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", "den/"+c+"/"+c).CombinedOutput(); err != nil {
			t.Errorf("%q: git does not take %q: %s", name, c, out)
		}
	}
	if got := component("dir/coder"); got != "dir--coder" {
		t.Errorf("dir/coder is %q", got)
	}
}
