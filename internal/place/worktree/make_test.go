package worktree_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/place/worktree"
)

func TestMakeAndReuse(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("coder"))
	if p.WorkDir != filepath.Join(r.root, "coder", "project") || p.Branch != "den/ws/coder" {
		t.Errorf("made %+v", p)
	}
	if got := r.run(p.Path, "branch", "--show-current"); got != "den/ws/coder" {
		t.Errorf("on %q", got)
	}
	r.write(p.Path, "file", "work\n")
	r.make(r.spec("coder"))
	if raw, err := os.ReadFile(filepath.Join(p.Path, "file")); err != nil || string(raw) != "work\n" {
		t.Errorf("work was not kept: %q, %v", raw, err)
	}
	if left := r.run(r.dir, "status", "--porcelain"); left != "" {
		t.Errorf("the repository itself has %q", left)
	}
}

// The agent's directory is that of the same place in the worktree, also where
// the base does not have it.
func TestDirectoryBelowTheTop(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, below := range []string{"part", "new/empty"} {
		s := r.spec("a-" + filepath.Base(below))
		s.Dir = filepath.Join(r.dir, below)
		if err := os.MkdirAll(s.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p := r.make(s)
		if want := filepath.Join(p.Path, below); p.WorkDir != want || !there(want) {
			t.Errorf("the agent's directory is %s, want %s", p.WorkDir, want)
		}
	}
}

func TestBases(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.run(r.dir, "rev-parse", "HEAD")
	r.run(r.dir, "tag", "v1")
	r.run(r.dir, "branch", "old")
	r.commit(r.dir, "two")
	second := r.run(r.dir, "rev-parse", "HEAD")
	for agent, test := range map[string]struct{ base, commit string }{
		"checked-out": {"", second}, "branch": {"old", first}, "tag": {"v1", first}, "commit": {first[:10], first}, "way": {"main~1", first},
	} {
		s := r.spec(agent)
		s.Base = test.base
		if got := r.run(r.make(s).Path, "rev-parse", "HEAD"); got != test.commit {
			t.Errorf("from %q: %s, want %s", test.base, got, test.commit)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(r *repo, s *worktree.Spec)
		kind    fault.Kind
		text    string
	}{
		"no repository":  {func(r *repo, s *worktree.Spec) { s.Dir = r.t.TempDir() }, fault.Usage, "is in no git repository"},
		"no directory":   {func(r *repo, s *worktree.Spec) { s.Dir += "/none" }, fault.NotFound, "is not there"},
		"no base":        {func(_ *repo, s *worktree.Spec) { s.Base = "nope" }, fault.NotFound, "there is no base 'nope'"},
		"its own branch": {func(r *repo, s *worktree.Spec) { s.Base = "den/ws/a"; r.run(r.dir, "branch", s.Base) }, fault.Usage, "its base is its own branch"},
		"elsewhere": {func(r *repo, s *worktree.Spec) {
			r.run(r.dir, "checkout", "--quiet", "-b", "den/ws/a")
			s.Base = "main"
		}, fault.Busy, "is checked out in"},
		"detached":        {func(r *repo, _ *worktree.Spec) { r.run(r.dir, "checkout", "--quiet", "--detach") }, fault.Usage, "no branch is checked out"},
		"somebody's tree": {func(r *repo, _ *worktree.Spec) { r.write(r.root, "a/project/file", "mine") }, fault.Busy, "den did not make it"},
		"a branch's name": {func(r *repo, _ *worktree.Spec) { r.run(r.dir, "branch", "den") }, fault.Internal, "den"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			s := r.spec("a")
			test.prepare(r, &s)
			_, err := r.git.Make(t.Context(), worktree.Plan(s))
			if fault.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v (%s), want %s with %q", err, fault.KindOf(err), test.kind, test.text)
			}
			if there(filepath.Join(r.root, "a", "worktree.json")) {
				t.Error("it left a record")
			}
		})
	}
}

func TestWithoutGit(t *testing.T) {
	r := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	_, err := r.git.Make(t.Context(), worktree.Plan(r.spec("a")))
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("%v", err)
	}
}

// Ten at once, and each twice, as two keepers would.
func TestMadeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var work sync.WaitGroup
	errs := make(chan error, 20) // room for all
	for i := range 20 {
		work.Go(func() {
			_, err := r.git.Make(t.Context(), worktree.Plan(r.spec("a-"+string(rune('a'+i%10)))))
			errs <- err
		})
	}
	work.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(r.run(r.dir, "worktree", "list"), "\n"); n != 10 {
		t.Errorf("%d worktrees", n)
	}
}

// A tree that somebody removed is made anew, on its branch.
func TestRemovedByHand(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]bool{"and git was told": true, "and git was not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			p := r.make(r.spec("a"))
			r.write(p.Path, "work", "1")
			r.commit(p.Path, "work")
			if err := os.RemoveAll(p.Path); err != nil {
				t.Fatal(err)
			}
			if tell {
				r.run(r.dir, "worktree", "prune")
			}
			r.make(r.spec("a"))
			if !there(filepath.Join(p.Path, "work")) {
				t.Error("its commit is not there")
			}
		})
	}
}

// Commits that are on no branch are not forgotten with the directory.
func TestRemovedByHandWithCommitsOnNoBranch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	r.run(p.Path, "checkout", "--quiet", "--detach")
	r.commit(p.Path, "work")
	head := r.run(p.Path, "rev-parse", "HEAD")
	if err := os.RemoveAll(p.Path); err != nil {
		t.Fatal(err)
	}
	_, err := r.git.Make(t.Context(), p)
	if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "1 commits of it are on no branch") {
		t.Errorf("%v", err)
	}
	if v := r.prune(idle, false)[0]; v.Removed || !strings.Contains(v.Keep, "on no branch") {
		t.Errorf("prune: removed %v, kept because %q", v.Removed, v.Keep)
	}
	r.run(r.dir, "branch", "saved", head)
	r.make(r.spec("a"))
}

// A start that was killed while git made the tree leaves a half of it; the next
// one begins anew.
func TestHalfMade(t *testing.T) {
	r := newRepo(t)
	p := worktree.Plan(r.spec("a"))
	r.write(r.dir, "zlast", "1")
	r.commit(r.dir, "more")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := r.fifo("begun")
	path := os.Getenv("PATH")
	t.Setenv("PATH", r.stopped("echo > "+begun+"; sleep 1000"))
	go func() {
		os.ReadFile(begun) // it returns when the checkout has begun
		cancel()
	}()
	if _, err := r.git.Make(ctx, p); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	t.Setenv("PATH", path)
	// What a keeper leaves that had no time to clean up.
	if err := os.MkdirAll(p.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(r.dir, ".git", "worktrees", "project")
	r.write(admin, "gitdir", filepath.Join(p.Path, ".git")+"\n")
	r.write(admin, "locked", "initializing\n")
	r.write(filepath.Dir(p.Path), "worktree.json", `{"v":1,"state":"making","agent":"a","path":"`+p.Path+`","common":"`+filepath.Join(r.dir, ".git")+`","branch":"den/ws/a"}`)
	r.make(r.spec("a"))
	if got := r.run(p.Path, "status", "--porcelain"); got != "" || !there(filepath.Join(p.Path, "zlast")) {
		t.Errorf("it is not whole: %q", got)
	}
}

// The git of a keeper that was killed goes on for a while. The next start waits
// for it, and then begins anew.
func TestKilledWhileMaking(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	begun, goOn := r.fifo("begun"), r.fifo("go")
	r.write(r.dir, "zlast", "1\n")
	r.commit(r.dir, "more")
	spec, err := json.Marshal(r.spec("a"))
	if err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command(os.Args[0])
	keeper.Env = append(r.environ(), makeMark+"="+string(spec), "PATH="+r.stopped("echo > "+begun+"; read _ < "+goOn))
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(begun); err != nil { // it is there when the checkout has begun
		t.Fatal(err)
	}
	if err := keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	keeper.Wait() // Best effort: it was killed.
	if held, err := filelock.HeldDir(filepath.Join(r.dir, ".git")); err != nil || !held {
		t.Errorf("the repository is locked: %v, %v", held, err)
	}
	made := make(chan error, 1) // room for its only value
	p := worktree.Plan(r.spec("a"))
	go func() {
		_, err := r.git.Make(t.Context(), p)
		made <- err
	}()
	if err := os.WriteFile(goOn, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	if got := r.run(p.Path, "status", "--porcelain"); got != "" || !there(filepath.Join(p.Path, "zlast")) {
		t.Errorf("it is not whole: %q", got)
	}
	if n := strings.Count(r.run(r.dir, "worktree", "list"), "\n"); n != 1 {
		t.Errorf("%d worktrees", n)
	}
}

// Hooks of the repository do not run in the keeper.
func TestNoHooks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ran := filepath.Join(r.root, "ran")
	r.write(r.dir, ".git/hooks/post-checkout", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(r.dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.run(r.dir, "config", "core.fsmonitor", "touch "+ran)
	r.make(r.spec("a"))
	r.prune(idle, true)
	if there(ran) {
		t.Error("a command of the repository was run")
	}
}

// Filters do not run either, and the person is told of the files that have one.
func TestNoFilters(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ran := filepath.Join(r.root, "ran")
	r.write(r.dir, ".gitattributes", "*.bin filter=lfs\n")
	r.write(r.dir, "a.bin", "stored\n")
	r.commit(r.dir, "attributes")
	r.run(r.dir, "config", "filter.lfs.smudge", "touch "+ran+"; echo content")
	r.run(r.dir, "config", "filter.lfs.clean", "touch "+ran+"; echo stored")
	p := worktree.Plan(r.spec("a"))
	note, err := r.git.Make(t.Context(), p)
	if err != nil || !strings.Contains(note, `1 file of the filter "lfs"`) {
		t.Errorf("%q, %v", note, err)
	}
	if raw, err := os.ReadFile(filepath.Join(p.Path, "a.bin")); err != nil || string(raw) != "stored\n" {
		t.Errorf("it has %q, %v", raw, err)
	}
	if v := r.prune(idle, true)[0]; v.Keep != "" {
		t.Errorf("kept because %q", v.Keep)
	}
	if there(ran) {
		t.Error("a filter was run")
	}
}

// Of a repository that has a part of its files checked out, so has a new tree.
func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *repo){
		"for each tree": func(r *repo) { r.run(r.dir, "sparse-checkout", "set", "--cone", "part") },
		"for all": func(r *repo) {
			r.run(r.dir, "config", "core.sparseCheckout", "true")
			r.run(r.dir, "config", "core.sparseCheckoutCone", "false")
			r.write(r.dir, ".git/info/sparse-checkout", "/part/\n/file\n/.gitignore\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write(r.dir, "other/file", "1\n")
			r.commit(r.dir, "other")
			prepare(r)
			p := r.make(r.spec("a"))
			if !there(filepath.Join(p.Path, "part/file")) || there(filepath.Join(p.Path, "other")) {
				t.Error("it has other files than the repository's own tree")
			}
			if got := r.run(p.Path, "status", "--porcelain"); got != "" {
				t.Errorf("status %q", got)
			}
			if v := r.prune(idle, false)[0]; !v.Removed {
				t.Errorf("kept because %q", v.Keep)
			}
		})
	}
}

// A file that the agent writes does not lead den to another repository.
func TestPlantedRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	ran := filepath.Join(r.root, "ran")
	other := filepath.Join(p.Path, "build", "other")
	r.run(r.dir, "init", "--quiet", other)
	r.run(other, "config", "filter.x.clean", "touch "+ran)
	r.write(p.Path, ".git", "gitdir: "+filepath.Join(other, ".git")+"\n")
	if v := r.prune(idle, false)[0]; v.Removed || v.Keep == "" {
		t.Errorf("removed %v, kept because %q", v.Removed, v.Keep)
	}
	if there(ran) {
		t.Error("a command of the planted repository was run")
	}
}

// A repository that was moved is joined to its trees again.
func TestMovedRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	r.write(p.Path, "untracked", "1")
	moved := filepath.Join(filepath.Dir(r.dir), "elsewhere", "project")
	if err := os.MkdirAll(filepath.Dir(moved), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.dir, moved); err != nil {
		t.Fatal(err)
	}
	r.dir = moved
	r.make(r.spec("a"))
	if got := r.run(p.Path, "status", "--porcelain"); got != "?? untracked" {
		t.Errorf("status %q", got)
	}
	if v := r.prune(idle, false)[0]; !strings.Contains(v.Keep, "untracked") {
		t.Errorf("kept because %q", v.Keep)
	}
}
