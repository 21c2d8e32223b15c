package workspace

import (
	"slices"
	"strings"
)

// apart are the session providers whose agents must not reach this machine's
// repositories.
var apart = []string{"container", "kubernetes"}

// checkWorktree checks what an agent with a git worktree of its own needs. A
// worktree is part of its repository: who works in it writes into the
// repository's git directory, with its hooks and its configuration. An agent in
// a container or in a pod could have commands run outside.
func checkWorktree(a *Agent, r *report) {
	if a.Worktree && slices.Contains(apart, a.SessionProvider) {
		r.add(a.at("worktree"), "agent '%s': 'worktree' does not go with session_provider \"%s\": a worktree needs the repository's own git directory, where an agent could leave commands that run on this machine; let 'pre_start' clone the repository there", a.Name, a.SessionProvider)
	}
	base := a.WorktreeBase
	if strings.HasPrefix(base, "-") || strings.ContainsFunc(base, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.add(a.at("worktree_base"), "agent '%s': 'worktree_base' is a branch, a tag or a commit, not %q", a.Name, base)
	}
}
