package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/filelock"
)

// Make makes the worktree if it is missing, and returns what there is to say.
// One that is there stays as it is.
func (g Git) Make(ctx context.Context, p Place) (string, error) {
	note, err := g.ensure(ctx, p)
	if err == nil {
		err = makeBelow(p)
	}
	if err != nil {
		return note, fault.Errorf(fault.KindOf(err), "worktree of agent '%s': %w", p.Agent, err)
	}
	return note, nil
}

// makeBelow makes the agent's directory in the worktree: git knows no empty
// ones, and the base may not have it.
func makeBelow(p Place) error {
	below, err := filepath.Rel(p.Path, p.WorkDir)
	if err != nil || below == "." {
		return err
	}
	root, err := os.OpenRoot(p.Path) // no link of the checkout leads out
	if err != nil {
		return err
	}
	defer root.Close() // Best effort: nothing was written through it.
	return root.MkdirAll(below, 0o755)
}

func (g Git) ensure(ctx context.Context, p Place) (string, error) {
	common, err := g.repository(ctx, p)
	if err != nil {
		return "", err
	}
	lock, err := lockRepository(ctx, common)
	if err != nil {
		return "", err
	}
	defer unlock(lock)
	had, err := readRecord(filepath.Dir(p.Path))
	if err == nil {
		had = followed(had, common)
	}
	switch {
	case fault.KindOf(err) == fault.NotFound:
		if _, err := os.Lstat(p.Path); err == nil {
			return "", fault.Hintf(fault.Errorf(fault.Busy, "%s is there, and den did not make it", p.Path), "move it away")
		}
	case err != nil:
		return "", err
	case had.Agent != p.Agent || had.Path != p.Path || !sameFile(had.Common, common):
		return "", fault.Hintf(fault.Errorf(fault.Busy, "its place has a worktree of agent '%s' and of the repository %s: %s", had.Agent, had.Common, had.Path),
			"'den worktree prune %s' removes it if its work is elsewhere", had.Agent)
	case had.State == making:
		if err := discard(had); err != nil {
			return "", err
		}
	default:
		usable, err := g.reuse(ctx, lock, had)
		if err != nil || usable {
			return "it was there, on " + had.Branch, err
		}
	}
	return g.add(ctx, lock, p, common)
}

// followed is the record of a tree whose repository has moved to common.
func followed(r Record, common string) Record {
	if sameFile(r.Common, common) {
		return r
	}
	there := r
	there.Common = common
	if admin, err := adminDirs(there); err == nil && len(admin) == 1 {
		there.GitDir = admin[0]
		return there
	}
	return r
}

// repository returns the git directory that all worktrees of the agent's
// repository share.
func (g Git) repository(ctx context.Context, p Place) (string, error) {
	if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
		return "", fault.Errorf(fault.NotFound, "its directory %s is not there", p.Dir)
	}
	out, err := g.run(ctx, p.Dir, "rev-parse", "--show-toplevel", "--git-common-dir")
	if exited(err, 128) {
		err = fault.Hintf(fault.Errorf(fault.Usage, "%s is in no git repository that has files: %w", p.Dir, err),
			"'git init' makes one; 'worktree = false' needs none")
	}
	if err != nil {
		return "", err
	}
	top, common, _ := strings.Cut(out, "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(p.Dir, common) // as git tells it: from where it ran
	}
	if common = resolved(common); p.Top == "" || !sameFile(top, p.Top) {
		return "", fault.Hintf(fault.Errorf(fault.Busy, "%s is in a repository that was not there when the workspace was loaded: %s", p.Dir, top), "'den reload' plans with it")
	}
	return common, nil
}

// reuse reports whether the tree that was made can be worked in. One that
// somebody removed by hand is forgotten, unless that would lose commits.
func (g Git) reuse(ctx context.Context, lock *os.File, r Record) (bool, error) {
	_, err := os.Lstat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, g.forgetRemoved(ctx, r)
	}
	if err == nil && !linked(r) {
		// The repository or the Home was moved: git knows how to join them again.
		_, err = g.holding(ctx, lock, r.Common, "--git-dir="+r.Common, "worktree", "repair", r.Path)
		if err == nil && !linked(r) {
			err = fmt.Errorf("git did not join them again")
		}
		if err != nil {
			return false, fault.Hintf(fault.Errorf(fault.Storage, "%s is not joined to its repository %s any more: %w", r.Path, r.Common, err),
				"save what you need of it and move it away: then a new one is made")
		}
	}
	if err == nil {
		err = r.save() // where it is now
	}
	return err == nil, err
}

// linked reports whether tree and repository name each other.
func linked(r Record) bool {
	there, err := atomicfile.Read(filepath.Join(r.GitDir, "gitdir"), maxRecord)
	if err != nil || !sameFile(strings.TrimSpace(string(there)), filepath.Join(r.Path, ".git")) {
		return false
	}
	here, err := atomicfile.Read(filepath.Join(r.Path, ".git"), maxRecord) // the agent's to write: it may be anything
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(here)), "gitdir: ")
	return err == nil && ok && sameFile(dir, r.GitDir)
}

func sameFile(a, b string) bool {
	ia, aerr := os.Stat(a)
	ib, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ia, ib)
}

// forgetRemoved drops what the repository knows of a tree that is gone. Commits
// of a detached HEAD are nowhere else.
func (g Git) forgetRemoved(ctx context.Context, r Record) error {
	if _, err := os.Stat(r.GitDir); err == nil {
		left, err := g.count(ctx, r, "HEAD", "--not", "--branches", "--tags", "--remotes")
		switch {
		case err != nil:
			return err
		case left > 0:
			return fault.Hintf(fault.Errorf(fault.Denied, "%s was removed by hand, and %d commits of it are on no branch", r.Path, left),
				"'git --git-dir=%s branch NAME HEAD' keeps them, 'git worktree prune' lets them go", r.GitDir)
		}
	}
	return clearRemains(r)
}

// discard removes a tree that was not finished: nobody has worked in it.
func discard(r Record) error {
	if err := os.RemoveAll(r.Path); err != nil {
		return fault.Errorf(fault.KindOf(err), "remove a half of a worktree: %w", err)
	}
	return clearRemains(r)
}

// clearRemains removes what is left of a tree that is gone: what the repository knows
// of it, and the record.
func clearRemains(r Record) error {
	admin, err := adminDirs(r)
	for _, dir := range admin {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err == nil {
		err = r.forget()
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "remove what is left of %s: %w", r.Path, err)
	}
	return nil
}

// adminDirs are what the repository keeps of the tree: git cannot be asked to
// remove one that it has not finished.
func adminDirs(r Record) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(escapeGlob(r.Common), "worktrees", "*", "gitdir"))
	var own []string
	for _, file := range all {
		raw, err := atomicfile.Read(file, maxRecord)
		if err == nil && strings.TrimSpace(string(raw)) == filepath.Join(r.Path, ".git") {
			own = append(own, filepath.Dir(file))
		}
	}
	return own, err
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// add makes the tree.
func (g Git) add(ctx context.Context, lock *os.File, p Place, common string) (string, error) {
	base, commit, err := g.base(ctx, p)
	if err != nil {
		return "", err
	}
	if base == "refs/heads/"+p.Branch {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "its base is its own branch, %s", p.Branch), "'worktree_base' names another one")
	}
	there, err := g.freeBranch(ctx, p, common)
	if err != nil {
		return "", err
	}
	r := Record{
		State: making, Agent: p.Agent, Workspace: p.Workspace, Session: p.Session, Provider: p.Provider,
		Path: p.Path, Common: common, Branch: p.Branch, Base: base, Made: time.Now().UTC(),
	}
	if err := r.save(); err != nil {
		return "", err
	}
	note, args := "made from "+r.BaseName()+", on "+p.Branch, []string{"worktree", "add", "--quiet", "--no-track", "-b", p.Branch, "--", p.Path, commit}
	if there {
		note, args = "made anew on "+p.Branch+", which was there", []string{"worktree", "add", "--quiet", "--", p.Path, p.Branch}
	}
	if _, err := g.holding(ctx, lock, p.Dir, args...); err != nil {
		// What is left is removed now, or by the next start.
		return "", errors.Join(err, discard(r))
	}
	if r.GitDir, err = g.run(ctx, p.Path, "rev-parse", "--absolute-git-dir"); err != nil {
		return "", err
	}
	r.State = ready
	return note, r.save()
}

// base returns the whole name of the base, and its commit.
func (g Git) base(ctx context.Context, p Place) (name, commit string, err error) {
	asked := p.Base
	if asked == "" {
		if asked, err = g.run(ctx, p.Dir, "symbolic-ref", "--quiet", "HEAD"); err != nil {
			return "", "", fault.Hintf(fault.Errorf(fault.Usage, "no branch is checked out in %s to begin with", p.Top), "'worktree_base' names a branch")
		}
	}
	commit, err = g.run(ctx, p.Dir, "rev-parse", "--verify", "--quiet", asked+"^{commit}")
	if exited(err, 1) || exited(err, 128) {
		return "", "", fault.Hintf(fault.Errorf(fault.NotFound, "there is no base '%s' in %s, or it has no commit", asked, p.Top),
			"'worktree_base' names a branch, a tag or a commit; 'git fetch' brings those of a remote")
	}
	if err != nil {
		return "", "", err
	}
	name, err = g.run(ctx, p.Dir, "rev-parse", "--symbolic-full-name", asked)
	if err != nil || !strings.HasPrefix(name, "refs/") {
		return commit, commit, err // a commit by its hash, or by a way to it
	}
	return name, commit, nil
}

// freeBranch reports whether the branch is there, and refuses one that another
// tree has.
func (g Git) freeBranch(ctx context.Context, p Place, common string) (there bool, err error) {
	ref := "refs/heads/" + p.Branch
	_, err = g.run(ctx, common, "--git-dir="+common, "show-ref", "--verify", "--quiet", ref)
	if exited(err, 1) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	list, err := g.run(ctx, common, "--git-dir="+common, "worktree", "list", "--porcelain")
	if err != nil {
		return false, err
	}
	path := ""
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			path = at
		}
		if line == "branch "+ref {
			return false, fault.Hintf(fault.Errorf(fault.Busy, "branch %s is checked out in %s", p.Branch, path),
				"check out another one there; if two workspaces have one name, give one of them another")
		}
	}
	return true, nil
}

// lockRepository keeps others from making or removing worktrees of a
// repository. It is nil where the file system has no such locks.
func lockRepository(ctx context.Context, common string) (*os.File, error) {
	f, err := filelock.WaitDir(ctx, common)
	if errors.Is(err, filelock.ErrNoLocks) {
		return nil, nil // git's own locks are all there is
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "wait for the repository: %w", err)
	}
	return f, nil
}

func unlock(f *os.File) {
	if f != nil {
		filelock.ReleaseDir(f) // Best effort: closing lets go of it in any case.
	}
}
