package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/place/worktree"
)

// Whatever an agent left, nothing of it is lost: a tree is removed only where
// all of it is elsewhere.
func TestNeverRemovesWork(t *testing.T) {
	t.Parallel()
	commit := func(r *repo, p worktree.Location) {
		r.write(p.Path, "work", "1\n")
		r.commit(p.Path, "work")
	}
	merge := func(r *repo, p worktree.Location) { commit(r, p); r.run(r.dir, "merge", "--quiet", p.Branch) }
	tests := map[string]struct {
		work func(r *repo, p worktree.Location)
		keep string // why; "" for one that is removed
		safe string // where its work is, of one that is removed
	}{
		"nothing":        {func(*repo, worktree.Location) {}, "", "merged in main"},
		"dirty":          {func(r *repo, p worktree.Location) { r.write(p.Path, "file", "2\n") }, "1 file is not committed", ""},
		"staged":         {func(r *repo, p worktree.Location) { r.write(p.Path, "file", "2\n"); r.run(p.Path, "add", "file") }, "1 file is not committed", ""},
		"removed a file": {func(r *repo, p worktree.Location) { r.run(p.Path, "rm", "--quiet", "file") }, "1 file is not committed", ""},
		"untracked":      {func(r *repo, p worktree.Location) { r.write(p.Path, "new", "1"); r.write(p.Path, "dir/new", "1") }, "2 files are untracked", ""},
		"untracked, and git told not to show": {func(r *repo, p worktree.Location) {
			r.run(r.dir, "config", "status.showUntrackedFiles", "no")
			r.write(p.Path, "new", "1")
		}, "1 file is untracked", ""},
		"ignored":   {func(r *repo, p worktree.Location) { r.write(p.Path, "ignored", "1"); r.write(p.Path, "build/out", "1") }, "2 files are ignored by git, such as build/; --ignored", ""},
		"committed": {commit, "1 commit is neither in main nor pushed", ""},
		"merged":    {merge, "", "merged in main"},
		"merged, and then more": {func(r *repo, p worktree.Location) {
			merge(r, p)
			r.commit(p.Path, "more")
		}, "1 commit is neither in main nor pushed", ""},
		"squash-merged": {func(r *repo, p worktree.Location) {
			commit(r, p)
			r.run(r.dir, "merge", "--quiet", "--squash", p.Branch)
			r.commit(r.dir, "squashed")
		}, "1 commit is neither in main nor pushed", ""},
		"pushed": {func(r *repo, p worktree.Location) {
			r.remote()
			commit(r, p)
			r.run(p.Path, "push", "--quiet", "-u", "origin", p.Branch)
		}, "", "pushed"},
		"pushed, and then more": {func(r *repo, p worktree.Location) {
			r.remote()
			commit(r, p)
			r.run(p.Path, "push", "--quiet", "-u", "origin", p.Branch)
			r.commit(p.Path, "more")
		}, "1 commit is neither in main nor pushed", ""},
		"an upstream that is its own branch": {func(r *repo, p worktree.Location) {
			commit(r, p)
			r.run(r.dir, "config", "branch."+p.Branch+".remote", ".")
			r.run(r.dir, "config", "branch."+p.Branch+".merge", "refs/heads/"+p.Branch)
		}, "1 commit is neither in main nor pushed", ""},
		"detached HEAD": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "checkout", "--quiet", "--detach")
			commit(r, p)
		}, "1 commit is neither in main nor pushed", ""},
		"another branch": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "checkout", "--quiet", "-b", "feature")
			commit(r, p)
		}, "1 commit is neither in main nor pushed", ""},
		"its own branch left behind": {func(r *repo, p worktree.Location) {
			commit(r, p)
			r.run(p.Path, "checkout", "--quiet", "--detach", "main")
		}, "1 commit is neither in main nor pushed", ""},
		"a reference of its own": {func(r *repo, p worktree.Location) {
			commit(r, p)
			r.run(p.Path, "update-ref", "refs/worktree/kept", "HEAD")
			r.run(p.Path, "reset", "--quiet", "--hard", "main")
		}, "1 commit is neither in main nor pushed", ""},
		"stash": {func(r *repo, p worktree.Location) {
			r.write(p.Path, "file", "2\n")
			r.run(p.Path, "stash", "--quiet")
		}, "1 stash was made in it", ""},
		"stash on another branch": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "checkout", "--quiet", "-b", "feature")
			r.write(p.Path, "file", "2\n")
			r.run(p.Path, "stash", "push", "--quiet", "-m", "on: a: thing")
			r.run(p.Path, "checkout", "--quiet", p.Branch)
		}, "1 stash was made in it", ""},
		"stash on no branch": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "checkout", "--quiet", "--detach")
			r.write(p.Path, "file", "2\n")
			r.run(p.Path, "stash", "--quiet")
		}, "1 stash was made in it", ""},
		"stash of another command": {func(r *repo, p worktree.Location) {
			r.write(p.Path, "file", "2\n")
			hash := r.run(p.Path, "stash", "create")
			r.run(p.Path, "checkout", "--quiet", "file")
			r.run(p.Path, "stash", "store", "-m", "autostash", hash)
		}, "1 stash was made in it", ""},
		"stash, and signatures are shown": {func(r *repo, p worktree.Location) {
			r.run(r.dir, "config", "log.showSignature", "true")
			r.run(r.dir, "config", "gpg.program", "false")
			r.write(p.Path, "file", "2\n")
			r.run(p.Path, "stash", "--quiet")
		}, "1 stash was made in it", ""},
		"a pipe in place of its .git": {func(r *repo, p worktree.Location) {
			if err := os.Remove(filepath.Join(p.Path, ".git")); err != nil {
				r.t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(p.Path, ".git"), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, "could not ask", ""},
		"a stash of the repository": {func(r *repo, _ worktree.Location) {
			r.write(r.dir, "file", "2\n")
			r.run(r.dir, "stash", "--quiet")
		}, "", "merged in main"},
		"base gone": {func(r *repo, p worktree.Location) {
			commit(r, p)
			r.run(r.dir, "branch", "-m", "main", "other")
		}, "its base main is gone, and 2 commits are not pushed", ""},
		"base gone, pushed": {func(r *repo, p worktree.Location) {
			r.remote()
			commit(r, p)
			r.run(p.Path, "push", "--quiet", "origin", p.Branch)
			r.run(r.dir, "branch", "-m", "main", "other")
		}, "", "pushed"},
		"assumed to be unchanged": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "update-index", "--assume-unchanged", "file")
			r.write(p.Path, "file", "2\n")
		}, "1 file is hidden from git status", ""},
		"skipped": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "update-index", "--skip-worktree", "part/file")
			r.write(p.Path, "part/file", "2\n")
		}, "1 file is hidden from git status", ""},
		"a merge under way": {func(r *repo, p worktree.Location) {
			r.run(r.dir, "branch", "side")
			r.run(p.Path, "checkout", "--quiet", "side")
			r.commit(p.Path, "side")
			r.run(p.Path, "checkout", "--quiet", p.Branch)
			r.run(p.Path, "merge", "--quiet", "--no-commit", "--no-ff", "side")
		}, "a merge is under way in it", ""},
		"locked": {func(r *repo, p worktree.Location) { r.run(r.dir, "worktree", "lock", p.Path) }, "it is locked", ""},
		"no commit yet": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "checkout", "--quiet", "--orphan", "new")
			r.run(p.Path, "rm", "-rfq", ".")
		}, "its branch has no commit", ""},
		"a repository that is ignored": {func(r *repo, p worktree.Location) {
			r.run(p.Path, "init", "--quiet", "build/other")
		}, "it has another repository in it", ""},
		"a repository in its place": {func(r *repo, p worktree.Location) {
			if err := os.Remove(filepath.Join(p.Path, ".git")); err != nil {
				r.t.Fatal(err)
			}
			r.run(p.Path, "init", "--quiet")
		}, "its .git does not name its repository", ""},
		"submodules": {func(r *repo, p worktree.Location) {
			r.write(r.dir, ".gitmodules", "")
			r.commit(r.dir, "modules")
			r.run(p.Path, "merge", "--quiet", "main")
		}, "it has submodules", ""},
		"its repository is gone": {func(r *repo, _ worktree.Location) {
			if err := os.Rename(r.dir, r.dir+"-moved"); err != nil {
				r.t.Fatal(err)
			}
		}, "project/.git", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			p := r.make(r.spec("a"))
			test.work(r, p)
			dry := r.prune(idle, true)[0]
			if !there(p.Path) {
				t.Fatal("a dry prune removed it")
			}
			v := r.prune(idle, false)[0]
			if v.Removed != (test.keep == "") || v.Removed == there(p.Path) || !strings.Contains(v.Keep, test.keep) || v.Safe != test.safe {
				t.Errorf("removed %v, there %v, kept because %q, safe %q; want %q, %q", v.Removed, there(p.Path), v.Keep, v.Safe, test.keep, test.safe)
			}
			if dry.Keep != v.Keep || dry.Safe != v.Safe {
				t.Errorf("a dry prune says %q, %q; the other %q, %q", dry.Keep, dry.Safe, v.Keep, v.Safe)
			}
			if v.BranchRemoved != (v.Removed && v.Safe == "merged in main") {
				t.Errorf("its branch was removed: %v", v.BranchRemoved)
			}
		})
	}
}

// Commits that were undone in a tree stay, and what git ignores goes only where
// somebody gave it up.
func TestPruneKeepsWhatWasUndone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	r.write(p.Path, "ignored", "1")
	r.write(p.Path, "work", "1")
	r.commit(p.Path, "first")
	r.commit(p.Path, "second")
	second := r.run(p.Path, "rev-parse", "HEAD")
	r.run(p.Path, "reset", "--quiet", "--hard", "main")
	r.commit(p.Path, "to be amended")
	amended := r.run(p.Path, "rev-parse", "HEAD")
	r.run(p.Path, "commit", "--quiet", "--amend", "--allow-empty", "-m", "amended")
	r.run(r.dir, "merge", "--quiet", p.Branch)
	v := r.prune(idle, false)[0]
	if v.Removed || len(v.Undone) > 0 || !strings.Contains(v.Keep, "such as ignored") {
		t.Fatalf("kept because %q, removed %v, undone %v", v.Keep, v.Removed, v.Undone)
	}
	all, err := r.git.Prune(t.Context(), r.root, worktree.Choice{Ignored: true}, idle)
	if err != nil || !all[0].Removed || len(all[0].Undone) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	r.run(r.dir, "reflog", "expire", "--expire=now", "--all")
	r.run(r.dir, "gc", "--quiet", "--prune=now")
	for _, commit := range []string{second, amended} {
		r.run(r.dir, "cat-file", "-e", commit+"^{tree}")
	}
}

// An agent can write references: none of them makes a prune move a branch, or take
// a commit for kept that is not.
func TestPruneIsNotLedAstray(t *testing.T) {
	t.Parallel()
	for name, lead := range map[string]string{"to a branch": "refs/heads/main", "to what goes with the tree": "ORIG_HEAD"} {
		for _, where := range []string{"refs/den/undone/BRANCH/COMMIT", "refs/den/undone/other", "refs/heads/other"} {
			t.Run(name+" from "+where, func(t *testing.T) {
				t.Parallel()
				r := newRepo(t)
				p := r.make(r.spec("a"))
				main := r.run(r.dir, "rev-parse", "main")
				r.commit(p.Path, "undone")
				commit := r.run(p.Path, "rev-parse", "HEAD")
				r.run(p.Path, "reset", "--quiet", "--hard", "main")
				r.run(p.Path, "symbolic-ref", strings.NewReplacer("BRANCH", p.Branch, "COMMIT", commit).Replace(where), lead)
				v := r.prune(idle, false)[0]
				if now := r.run(r.dir, "rev-parse", "main"); now != main {
					t.Errorf("main was moved to %s", now)
				}
				if !v.Removed && !there(p.Path) || v.Removed && len(v.Undone) != 1 {
					t.Errorf("removed %v, kept because %q, undone %v", v.Removed, v.Keep, v.Undone)
				}
				if v.Removed {
					r.run(r.dir, "reflog", "expire", "--expire=now", "--all")
					r.run(r.dir, "gc", "--quiet", "--prune=now")
				}
				r.run(r.dir, "cat-file", "-e", commit+"^{tree}")
			})
		}
	}
}

// After a prune the next start begins from the base as it is then, or on the
// branch that was pushed.
func TestMadeAgainAfterPrune(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.remote()
	merged, pushed := r.make(r.spec("merged")), r.make(r.spec("pushed"))
	r.write(pushed.Path, "work", "1")
	r.commit(pushed.Path, "work")
	r.run(pushed.Path, "push", "--quiet", "origin", pushed.Branch)
	r.write(r.dir, "later", "1")
	r.commit(r.dir, "later")
	for _, v := range r.prune(idle, false) {
		if !v.Removed {
			t.Errorf("%s was kept: %s", v.Agent, v.Keep)
		}
	}
	r.make(r.spec("merged"))
	r.make(r.spec("pushed"))
	if !there(filepath.Join(merged.Path, "later")) || !there(filepath.Join(pushed.Path, "work")) {
		t.Error("a tree that was made again does not have what it should")
	}
}

// Nor is a tree removed while its agent runs, or while nobody knows.
func TestNeverRemovesWhereAnAgentRuns(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	for why, runs := range map[string]worktree.Runs{
		"its agent is starting":    func(context.Context, worktree.Record) (string, error) { return "is starting", nil },
		"could not ask: no answer": func(context.Context, worktree.Record) (string, error) { return "", errors.New("no answer") },
	} {
		if v := r.prune(runs, false)[0]; v.Removed || v.Keep != why || !there(p.Path) {
			t.Errorf("removed %v, kept because %q, want %q", v.Removed, v.Keep, why)
		}
	}
}

func TestPruneByName(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.spec("x/a")
	p, other := r.make(s), r.make(r.spec("b"))
	if _, err := r.git.Prune(t.Context(), r.root, worktree.Choice{Agents: []string{"a", "none"}}, idle); err == nil || !there(p.Path) {
		t.Errorf("a name that has no worktree: %v, there %v", err, there(p.Path))
	}
	if all := r.prune(idle, false, "a"); len(all) != 1 || !all[0].Removed || there(p.Path) || !there(other.Path) {
		t.Errorf("pruned %+v", all)
	}
}

// A tree of which a half was made is removed: nobody has worked in it.
func TestPruneHalfMade(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := worktree.Plan(r.spec("a"))
	r.write(p.Path, "file", "half")
	r.write(filepath.Dir(p.Path), "worktree.json", `{"v":1,"state":"making","agent":"a","path":"`+p.Path+`","common":"`+filepath.Join(r.dir, ".git")+`","branch":"den/ws/a"}`)
	if v := r.prune(idle, false)[0]; !v.Removed || there(filepath.Dir(p.Path)) {
		t.Errorf("%+v", v)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := r.make(r.spec("a"))
	r.commit(r.dir, "on main")
	r.commit(p.Path, "one")
	r.commit(p.Path, "two")
	r.write(p.Path, "file", "2\n")
	r.write(p.Path, "new", "1\n")
	records, err := worktree.Records(r.root)
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	s := r.git.Look(t.Context(), records[0])
	if s.Problem != nil || s.Head != p.Branch || s.Ahead != 2 || s.Behind != 1 || s.Changed != 1 || s.Untracked != 1 || s.BaseName() != "main" {
		t.Errorf("%+v", s)
	}
}
