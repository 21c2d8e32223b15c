package worktree

import "fmt"

// facts is what decides whether a worktree may be removed.
type facts struct {
	Status
	runs       string // what the agent does now, "" where it does not run
	locked     bool   // somebody told git to keep it
	operation  string // that was begun and not ended, such as a rebase; or ""
	hidden     int    // files that git was told not to look at
	stashes    int    // that were made in it
	submodules bool
	nested     string   // another repository in it, or ""
	unmerged   int      // commits that are neither in the base nor on a remote
	unbased    int      // commits that are not in the base
	undone     []string // commits of its log that nothing leads to any more, without those that another one leads to
	tip        string   // the commit of the agent's own branch, "" where that is gone
	unknown    error    // what could not be asked, or nil
}

// keepWhy says why a worktree is kept, "" where nothing in it would be lost.
// What is not known counts as work. ignored says that somebody gave up the files
// that git ignores.
func keepWhy(f facts, ignored bool) string {
	switch {
	case f.runs != "":
		return "its agent " + f.runs
	case f.unknown != nil:
		return "could not ask: " + f.unknown.Error()
	case f.locked:
		return "it is locked ('git worktree unlock')"
	case f.operation != "":
		return f.operation + " is under way in it"
	case f.Changed > 0:
		return fmt.Sprintf("%s not committed", counted(f.Changed, "file is", "files are"))
	case f.Untracked > 0:
		return fmt.Sprintf("%s untracked", counted(f.Untracked, "file is", "files are"))
	case f.hidden > 0:
		return fmt.Sprintf("%s hidden from git status (skip-worktree, assume-unchanged)", counted(f.hidden, "file is", "files are"))
	case f.Unborn:
		return "its branch has no commit"
	case f.stashes > 0:
		return fmt.Sprintf("%s made in it", counted(f.stashes, "stash was", "stashes were"))
	case f.nested != "":
		return "it has another repository in it: " + f.nested
	case f.submodules:
		return "it has submodules"
	case f.unmerged > 0 && f.BaseGone:
		return fmt.Sprintf("its base %s is gone, and %s not pushed", f.BaseName(), counted(f.unmerged, "commit is", "commits are"))
	case f.unmerged > 0:
		return fmt.Sprintf("%s neither in %s nor pushed", counted(f.unmerged, "commit is", "commits are"), f.BaseName())
	case len(f.undone) > maxUndone:
		return fmt.Sprintf("%s undone in it, of which at most %d are kept elsewhere", counted(len(f.undone), "line of commits was", "lines of commits were"), maxUndone)
	case f.Ignored > 0 && !ignored:
		return fmt.Sprintf("%s ignored by git, such as %s; --ignored gives them up", counted(f.Ignored, "file is", "files are"), f.IgnoredOne)
	}
	return ""
}

// maxUndone bounds how many references are made for what was undone in a tree.
const maxUndone = 100

// safeWhere says where the work of a tree is that may be removed.
func safeWhere(f facts) string {
	if f.merged() {
		return "merged in " + f.BaseName()
	}
	return "pushed"
}

// merged reports whether the base has all of it.
func (f facts) merged() bool { return !f.BaseGone && f.unbased == 0 }

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
