package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/process/git"
)

// Make makes the worktree if it is missing, and returns what there is to say.
// One that is there stays as it is.
func (g Git) Make(ctx context.Context, p Location) (string, error) {
	note, err := g.ensure(ctx, p)
	if err == nil {
		err = makeBelow(p)
	}
	return note, err
}

// makeBelow makes the agent's directory in the worktree: git knows no empty
// ones, and the base may not have it.
func makeBelow(p Location) error {
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

func (g Git) ensure(ctx context.Context, p Location) (string, error) {
	repo, err := repository(p)
	if err != nil {
		return "", err
	}
	common := repo.Common
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
		usable, err := g.reuse(ctx, had)
		if err != nil || usable {
			return "it was there, on " + had.Branch, err
		}
	}
	return g.add(ctx, lock, p, repo)
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

// repository finds the agent's repository.
func repository(p Location) (git.Repository, error) {
	if info, err := os.Stat(p.Dir); err != nil || !info.IsDir() {
		return git.Repository{}, fault.Errorf(fault.NotFound, "its directory %s is not there", p.Dir)
	}
	r, err := git.Find(resolved(p.Dir))
	if fault.KindOf(err) == fault.NotFound {
		err = fault.Hintf(fault.Errorf(fault.Usage, "%w", err), "'git init' makes a repository that has files; 'worktree = false' needs none")
	}
	if err != nil {
		return r, err
	}
	if p.Top == "" || !sameFile(r.Top, p.Top) {
		return r, fault.Hintf(fault.Errorf(fault.Busy, "%s is in a repository that was not there when the workspace was loaded: %s", p.Dir, r.Top), "'den reload' plans with it")
	}
	r.Common = resolved(r.Common)
	return r, nil
}

// reuse reports whether the tree that was made can be worked in. One that
// somebody removed by hand is forgotten, unless that would lose commits.
func (g Git) reuse(ctx context.Context, r Record) (bool, error) {
	_, err := os.Lstat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, g.forgetRemoved(ctx, r)
	}
	if err == nil && !r.repository().Linked() { // the repository or the Home was moved
		if err := r.repository().Join(); err != nil {
			return false, fault.Hintf(fault.Errorf(fault.Storage, "%s is not joined to its repository %s any more: %w", r.Path, r.Common, err),
				"save what you need of it and move it away: then a new one is made")
		}
	}
	if err == nil {
		err = r.save() // where it is now
	}
	return err == nil, err
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
		v, err := git.Git(g).Open(git.Repository{Dir: r.GitDir, Common: r.Common})
		if err != nil {
			return err
		}
		defer v.Close()
		left, err := count(ctx, v, "HEAD", "--not", "--branches", "--tags", "--remotes")
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
func (g Git) add(ctx context.Context, lock *os.File, p Location, repo git.Repository) (string, error) {
	v, err := git.Git(g).Open(git.Repository{Dir: repo.Dir, Common: repo.Common})
	if err != nil {
		return "", err
	}
	defer v.Close()
	v.Hold(lock)
	base, commit, err := findBase(ctx, v, p)
	if err != nil {
		return "", err
	}
	if base == "refs/heads/"+p.Branch {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "its base is its own branch, %s", p.Branch), "'worktree_base' names another one")
	}
	tip, err := freeBranch(ctx, v, p, repo.Common)
	if err != nil {
		return "", err
	}
	r := Record{
		State: making, Agent: p.Agent, Workspace: p.Workspace, Session: p.Session, Provider: p.Provider,
		Path: p.Path, Common: repo.Common, Branch: p.Branch, Base: base, Made: time.Now().UTC(),
	}
	if err := r.save(); err != nil {
		return "", err
	}
	note := "made anew on " + p.Branch + ", which was there"
	if tip == "" {
		note, tip = "made from "+r.BaseName()+", on "+p.Branch, commit
		_, err = v.Run(ctx, "update-ref", "--create-reflog", "-m", "branch: Created from "+base, "refs/heads/"+p.Branch, tip, "")
	}
	var filters map[string]int
	if err == nil {
		r.GitDir, filters, err = g.fill(ctx, lock, v, p, tip)
	}
	if err != nil {
		// What is left is removed now, or by the next start.
		return "", errors.Join(err, discard(r))
	}
	r.State = ready
	return note + unfiltered(filters), r.save()
}

// fill makes the tree known to the repository, and checks the files out.
func (g Git) fill(ctx context.Context, lock *os.File, v *git.View, p Location, commit string) (dir string, filters map[string]int, err error) {
	made, err := v.AddTree(p.Path, p.Branch)
	if err != nil {
		return made.Dir, nil, fault.Errorf(fault.KindOf(err), "make a worktree: %w", err)
	}
	tree, err := git.Git(g).Open(made)
	if err != nil {
		return made.Dir, nil, err
	}
	defer tree.Close()
	tree.Hold(lock)
	filters, err = tree.Checkout(ctx, commit)
	return made.Dir, filters, err
}

// unfiltered says which files are not as the agent may expect them.
func unfiltered(filters map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		all = append(all, fmt.Sprintf("%s of the filter %q", counted(filters[name], "file", "files"), name))
	}
	if all == nil {
		return ""
	}
	return "; den runs no filters, so these are as git stores them: " + strings.Join(all, ", ") + " (for lfs, 'git lfs pull' in pre_start brings the contents)"
}

// findBase returns the whole name of the base, and its commit.
func findBase(ctx context.Context, v *git.View, p Location) (name, commit string, err error) {
	asked := p.Base
	if asked == "" {
		if asked = v.Head.Ref; asked == "" {
			return "", "", fault.Hintf(fault.Errorf(fault.Usage, "no branch is checked out in %s to begin with", p.Top), "'worktree_base' names a branch")
		}
	}
	commit, err = v.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", asked+"^{commit}")
	if git.Exited(err, 1) || git.Exited(err, 128) {
		return "", "", fault.Hintf(fault.Errorf(fault.NotFound, "there is no base '%s' in %s, or it has no commit", asked, p.Top),
			"'worktree_base' names a branch, a tag or a commit; 'git fetch' brings those of a remote")
	}
	if err != nil {
		return "", "", err
	}
	name, err = v.Run(ctx, "rev-parse", "--symbolic-full-name", asked)
	if err != nil || !strings.HasPrefix(name, "refs/") {
		return commit, commit, err // a commit by its hash, or by a way to it
	}
	return name, commit, nil
}

// freeBranch returns the commit of the branch, "" if there is no such branch,
// and refuses one that another tree has.
func freeBranch(ctx context.Context, v *git.View, p Location, common string) (tip string, err error) {
	ref := "refs/heads/" + p.Branch
	tip, err = v.Run(ctx, "rev-parse", "--verify", "--quiet", ref)
	if git.Exited(err, 1) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	trees, err := git.Trees(common)
	for _, t := range trees {
		if slices.Contains(t.Refs, ref) {
			return "", fault.Hintf(fault.Errorf(fault.Busy, "branch %s is checked out in %s", p.Branch, t.Path),
				"check out another one there; if two workspaces have one name, give one of them another")
		}
	}
	return tip, err
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
