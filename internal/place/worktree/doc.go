// Package worktree gives agents git worktrees of their own, and removes those
// whose work is safe elsewhere.
//
// Each agent of a workspace has a slot below one root: a record of what was
// made for it, and the tree beside the record. The record is written before git
// is called and again when the tree is whole, so a tree that was cut off while
// it was made is known as such: nobody has worked in it yet. Nothing else is
// ever removed unless all of its work is elsewhere; [keepWhy] is that rule.
//
// Whoever makes or removes a tree holds the lock of the repository's own git
// directory, and the git that it runs holds it, too: it outlives a caller that
// was killed. Who only looks takes no lock, and git writes nothing for it.
package worktree
