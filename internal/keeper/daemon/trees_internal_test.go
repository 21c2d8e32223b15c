package daemon

import (
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/agent/harness"
	"den/internal/testkit/need"
)

const treePool = `
[[agents]]
name = "worker"
start_command = ["sleep", "1000"]
worktree = true

[agents.pool]
min = 2
max = 2
`

// inRepository is planned in a directory below the top of a repository.
func inRepository(t *testing.T, file string) *daemon {
	t.Helper()
	need.Program(t, "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := `git init --quiet -b main "$1" && mkdir "$1/part" && cd "$1/part" && echo 1 > file && git add file && git -c user.name=a -c user.email=a@example.org commit --quiet -m begin`
	if out, err := exec.Command("sh", "-c", script, "sh", filepath.Join(top, "repo")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return plannedIn(t, filepath.Join(top, "repo", "part"), file)
}

// Each member of a pool has a worktree of its own, at the place of the file in
// the repository. The agents are known by what they were known by.
func TestPlannedWorktrees(t *testing.T) {
	t.Parallel()
	d := inRepository(t, treePool)
	for _, name := range []string{"worker-1", "worker-2"} {
		m, ok := d.plan.now().members[name]
		want := filepath.Join(d.registration.Dir(), "worktrees", name, "repo", "part")
		if !ok || m.SessionConfig().WorkDir != want {
			t.Errorf("%s works in %s, want %s", name, m.SessionConfig().WorkDir, want)
		}
	}
	was, identity := d.plan.now().members["worker-1"].Fingerprint().String(), d.plan.now().members["worker-1"].Identity()
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	if m := d.plan.now().members["worker-1"]; m.Fingerprint().String() != was || m.Identity() != identity {
		t.Error("the same file makes it another agent")
	}
	rewrite(t, d, treePool[:len(treePool)-1]+"\n[defaults]\nworktree_base = \"main\"\n")
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	if d.plan.now().members["worker-1"].Fingerprint().String() != was {
		t.Error("another base restarts an agent that has its tree already")
	}
}

// An agent that talks works in its tree, too: its harness is told of it.
func TestWorktreeOfAnAgentByProtocol(t *testing.T) {
	t.Parallel()
	d := inRepository(t, "[[agents]]\nname = \"talker\"\nagent = \"script\"\nstart_command = \"cat\"\nworktree = true\n")
	c, err := harness.Load(d.harnessDir("talker"))
	if want := d.plan.now().members["talker"].tree.WorkDir; err != nil || want == "" || c.Dir != want {
		t.Errorf("it works in %q, %v; want %q", c.Dir, err, want)
	}
}
