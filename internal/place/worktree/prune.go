package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/process/git"
)

// Runs tells what the agent of a worktree does now, "" where it does not run.
type Runs func(ctx context.Context, r Record) (string, error)

// Verdict is whether a worktree may be removed.
type Verdict struct {
	Status
	Runs   bool
	Merged bool   // the base has all of its commits
	Pushed bool   // the base and the remotes have, as far as this repository knows
	Keep   string // why it is kept; "" where nothing would be lost
	Safe   string // where its work is, where Keep is ""

	// Of a removal.
	Removed       bool
	BranchRemoved bool
	// Undone are references to commits that were undone in it, which nothing else
	// leads to any more.
	Undone []string
}

// List examines all worktrees below a root. The error tells of records that
// could not be read.
func (g Git) List(ctx context.Context, root string, runs Runs) ([]Verdict, error) {
	records, err := Records(root)
	var all []Verdict
	for _, r := range records {
		what, err := runs(ctx, r)
		v, _ := g.examine(ctx, r, what, err, false)
		all = append(all, v)
	}
	return all, err
}

// examine decides about a worktree. runs is what its agent does, or unknown why
// nobody knows that. ignored is as in [Choice].
func (g Git) examine(ctx context.Context, r Record, runs string, unknown error, ignored bool) (Verdict, facts) {
	if left, why := remains(r); left && runs == "" && unknown == nil {
		return Verdict{Status: Status{Record: r, Problem: errors.New(why)}, Safe: why}, facts{}
	}
	f := g.gather(ctx, r)
	f.runs = runs
	if unknown != nil {
		f.unknown = errors.Join(f.unknown, fmt.Errorf("whether its agent runs: %w", unknown))
	}
	v := Verdict{Status: f.Status, Runs: f.runs != "", Keep: keepWhy(f, ignored)}
	if known := f.Problem == nil && !f.Unborn; known {
		v.Merged, v.Pushed = f.merged(), f.unmerged == 0
	}
	if v.Keep == "" {
		v.Safe = safeWhere(f)
	}
	return v, f
}

// Choice says which worktrees are removed, and what may go with them.
type Choice struct {
	Agents  []string // or none: all
	Dry     bool     // nothing is removed
	Ignored bool     // files that git ignores may go
}

// Prune removes the worktrees below a root whose work is elsewhere.
func (g Git) Prune(ctx context.Context, root string, c Choice, runs Runs) ([]Verdict, error) {
	records, unread := Records(root)
	chosen, err := choose(records, c.Agents)
	if err != nil {
		return nil, err
	}
	var all []Verdict
	for _, r := range chosen {
		v, err := g.pruneOne(ctx, r, c, runs)
		if err != nil {
			v.Keep = err.Error()
		}
		all = append(all, v)
	}
	return all, unread
}

// choose returns the records of the agents named, by their whole names or by
// the last part; all without names.
func choose(all []Record, names []string) ([]Record, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Record
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Agent != name })
		if len(found) == 0 {
			found = slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return path.Base(r.Agent) != name })
		}
		switch {
		case len(found) == 0:
			return nil, fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s' has no worktree", name), "'den worktree list' lists them")
		case len(found) > 1:
			return nil, fault.Hintf(fault.Errorf(fault.Usage, "%d agents with a worktree are called '%s'", len(found), name), "say which: %s, %s", found[0].Agent, found[1].Agent)
		}
		if !slices.ContainsFunc(chosen, func(r Record) bool { return r.Path == found[0].Path }) {
			chosen = append(chosen, found[0])
		}
	}
	return chosen, nil
}

// pruneOne removes a tree whose work is elsewhere. With the lock held nobody
// starts in it meanwhile.
func (g Git) pruneOne(ctx context.Context, r Record, c Choice, runs Runs) (Verdict, error) {
	v := Verdict{Status: Status{Record: r}}
	lock, err := lockRepository(ctx, r.Common)
	if err != nil {
		return v, err
	}
	defer unlock(lock)
	if r, err = readRecord(r.slot()); err != nil { // as it is now
		return v, err
	}
	what, err := runs(ctx, r)
	if what != "" || err != nil { // what is in it does not matter
		v.Keep = keepWhy(facts{runs: what, unknown: err}, false)
		return v, nil
	}
	v, f := g.examine(ctx, r, "", nil, c.Ignored)
	if v.Keep != "" || c.Dry {
		return v, nil
	}
	if left, _ := remains(r); !left {
		return g.remove(ctx, lock, v, f, c.Ignored)
	}
	if r.State == making {
		err = discard(r)
	} else {
		err = g.forgetRemoved(ctx, r)
	}
	v.Removed = err == nil
	return v, err
}

// keepUndone makes a reference to a commit. The agent may have made one of this
// name: what that is, or leads to, stays as it is, and the tree is kept.
func keepUndone(ctx context.Context, repo *git.View, ref, commit string) error {
	none := strings.Repeat("0", len(commit))
	if _, err := repo.Run(ctx, "update-ref", "--no-deref", ref, commit, none); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep commit %.12s, which was undone in it: %w", commit, err)
	}
	return nil
}

// remains reports whether nothing but remains is there of a tree.
func remains(r Record) (bool, string) {
	if r.State == making {
		return true, "it was not finished"
	}
	if !exists(r.Path) {
		return true, "its directory was removed by hand"
	}
	return false, ""
}

// remove removes the tree, and looks for changes once more before. The branch
// goes too if the base has all of it; one that was only pushed is gone on with
// at the next start. What was undone in it gets references before.
func (g Git) remove(ctx context.Context, lock *os.File, v Verdict, f facts, ignored bool) (Verdict, error) {
	again := Status{Record: f.Record}
	if err := g.look(ctx, &again, "--ignored=traditional"); err != nil {
		return v, err
	}
	if again.Changed > 0 || again.Untracked > 0 || again.Ignored > 0 && !ignored {
		return v, fault.Errorf(fault.Busy, "somebody works in it: a file was changed since it was looked at")
	}
	repo, err := git.Git(g).Open(git.Repository{Dir: f.Common, Common: f.Common})
	if err != nil {
		return v, err
	}
	defer repo.Close()
	repo.Hold(lock)
	for _, commit := range f.undone {
		ref := undoneRefs + f.Branch + "/" + commit
		if err := keepUndone(ctx, repo, ref, commit); err != nil {
			return v, err
		}
		v.Undone = append(v.Undone, ref)
	}
	if err := os.RemoveAll(f.Path); err != nil {
		return v, fault.Errorf(fault.KindOf(err), "remove a worktree: %w", err)
	}
	v.Removed = true
	if err := clearRemains(f.Record); err != nil {
		return v, err
	}
	if f.tip == "" || !f.merged() || f.Head != f.Branch { // or another tree may have it
		return v, nil
	}
	// Only as it was looked at: somebody may have committed since.
	if _, err := repo.Run(ctx, "update-ref", "-d", "refs/heads/"+f.Branch, f.tip); err != nil {
		return v, err
	}
	v.BranchRemoved = true
	// Best effort: what is configured of a branch that is gone harms nobody.
	_, _ = repo.Run(ctx, "config", "--file="+filepath.Join(f.Common, "config"), "--remove-section", "branch."+f.Branch)
	return v, nil
}
