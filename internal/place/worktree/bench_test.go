package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/place/worktree"
)

// BenchmarkLook is one look at a worktree of 2,600 files.
func BenchmarkLook(b *testing.B) {
	top := b.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	dir := filepath.Join(top, "project")
	for i := range 2600 {
		path := filepath.Join(dir, fmt.Sprint("d", i%50), fmt.Sprint("f", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fmt.Sprint(i)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", "git init -q -b main . && git add -A && git commit -qm begin")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	g := worktree.Git{Environ: env}
	p := worktree.Plan(worktree.Spec{Root: filepath.Join(top, "trees"), Workspace: "ws", Agent: "a", Dir: dir, Session: "s", Provider: "native"})
	if _, err := g.Make(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	r, err := worktree.Made(p)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if s := g.Look(b.Context(), r); s.Problem != nil {
			b.Fatal(s.Problem)
		}
	}
}
