// Package worktree gives agents git worktrees of their own, and removes those
// whose work is safe elsewhere.
//
// Each agent of a workspace has a slot below one root: a record of what was
// made for it, and the tree beside the record. The record is written before git
// is called and again when the tree is whole, so the record tells which trees
// were never finished: nobody has worked in those. Any other tree is removed only
// if all of its work is elsewhere; [keepWhy] is that rule.
//
// A process that makes or removes a tree holds the lock of the repository's own
// git directory, and so does the git that it runs, which may outlive it. Looking at
// trees takes no lock, and git writes nothing for it.
package worktree
