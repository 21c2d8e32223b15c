package worktree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"den/internal/place/worktree"
	"den/internal/testkit/need"
)

// repo is a repository with one commit on main, and a root for worktrees.
type repo struct {
	t         *testing.T
	dir, root string
	git       worktree.Git
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	need.Program(t, "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t: t, dir: filepath.Join(top, "project"), root: filepath.Join(top, "trees")}
	// What would lead a git astray that takes it over.
	r.git = worktree.Git{Environ: append(r.environ(), "GIT_DIR="+filepath.Join(top, "nowhere"), "GIT_INDEX_FILE=/dev/null")}
	if err := os.CopyFS(r.dir, os.DirFS(template())); err != nil {
		t.Fatal(err)
	}
	return r
}

// makeMark names the variable with the Spec of a worktree that a process of its
// own is to make.
const makeMark = "DEN_TEST_WORKTREE"

// template is a repository to copy: that is faster than to make one.
var template = sync.OnceValue(func() string {
	top, err := os.MkdirTemp("", "den-worktree-")
	if err != nil {
		panic(err)
	}
	script := `git init --quiet -b main . && mkdir part && echo one > file && echo one > part/file && printf 'ignored\nbuild/\n' > .gitignore &&
		git add -A && git -c user.name=a -c user.email=a@example.org commit --quiet -m begin && rm -f .git/hooks/*`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return top
})

func TestMain(m *testing.M) {
	if raw := os.Getenv(makeMark); raw != "" { // a keeper of a test, that is to be killed
		var s worktree.Spec
		err := json.Unmarshal([]byte(raw), &s)
		if err == nil {
			_, err = worktree.Git{Environ: os.Environ()}.Make(context.Background(), worktree.Plan(s))
		}
		fmt.Println(err)
		return
	}
	status := m.Run()
	if _, err := exec.LookPath("git"); err == nil {
		os.RemoveAll(template()) // Best effort: it is a temporary directory.
	}
	os.Exit(status)
}

func (r *repo) environ() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+filepath.Dir(r.dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
}

func (r *repo) run(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(dir, name, text string) {
	r.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) commit(dir, message string) {
	r.t.Helper()
	r.run(dir, "add", "-A")
	r.run(dir, "commit", "--quiet", "--allow-empty", "-m", message)
}

// remote gives the repository an origin.
func (r *repo) remote() {
	r.t.Helper()
	origin := filepath.Join(filepath.Dir(r.dir), "origin.git")
	r.run(r.dir, "init", "--quiet", "--bare", origin)
	r.run(r.dir, "remote", "add", "origin", origin)
}

func (r *repo) spec(agent string) worktree.Spec {
	return worktree.Spec{Root: r.root, Workspace: "ws", Agent: agent, Dir: r.dir, Session: "den-ws-" + agent, Provider: "native"}
}

func (r *repo) make(s worktree.Spec) worktree.Location {
	r.t.Helper()
	p := worktree.Plan(s)
	if _, err := r.git.Make(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func idle(context.Context, worktree.Record) (string, error) { return "", nil }

func (r *repo) prune(runs worktree.Runs, dry bool, names ...string) []worktree.Verdict {
	r.t.Helper()
	all, err := r.git.Prune(r.t.Context(), r.root, worktree.Choice{Agents: names, Dry: dry}, runs)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (r *repo) fifo(name string) string {
	r.t.Helper()
	path := filepath.Join(filepath.Dir(r.root), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// stopped is a PATH with a git that runs a command before each checkout.
func (r *repo) stopped(command string) string {
	r.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		r.t.Fatal(err)
	}
	dir := r.t.TempDir()
	script := "#!/bin/sh\ncase \" $* \" in *' read-tree '*) " + command + ";; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}
