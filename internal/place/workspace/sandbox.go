package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"den/internal/place/sandbox"
)

// withSandboxTable writes out the short forms of `sandbox`, so that layers can
// be laid over one another: `true` is a table that enables it, and so is a table
// that does not say.
func withSandboxTable(layer *node) *node {
	n := layer.get("sandbox")
	if n == nil || n.kind == listNode {
		return layer
	}
	table := n.clone()
	if n.kind == scalarNode {
		table = &node{kind: tableNode, origin: n.origin, entries: []entry{{"enabled", n}}}
	} else if n.get("enabled") == nil {
		table.set("enabled", newScalar(true, n.origin))
	}
	with := layer.clone()
	with.set("sandbox", table)
	return with
}

// checkSandbox checks what an agent's processes may reach.
func checkSandbox(a *Agent, r *report) {
	if a.Network != "" {
		if message := notOneOf("network", a.Network, sandbox.Networks); message != "" {
			r.add(a.at("network"), "agent '%s': %s", a.Name, message)
		}
	}
	inContainer := a.place().apart
	switch {
	case a.Sandbox.Enabled && inContainer:
		r.add(a.at("sandbox.enabled"), "agent '%s': 'sandbox' does not go with runs_in = \"%s\", which is a sandbox already", a.Name, a.RunsIn)
	case a.Network != "" && inContainer:
		r.add(a.at("network"), "agent '%s': 'network' is that of a sandbox; a container's is container.network", a.Name)
	case a.Network != "" && a.Network != sandbox.NetworkAny && !a.Sandbox.Enabled:
		r.add(a.at("network"), "agent '%s': network = \"%s\" needs sandbox = true, which holds it", a.Name, a.Network)
	}
	for key, paths := range map[string][]string{"sandbox.read": a.Sandbox.Read, "sandbox.write": a.Sandbox.Write} {
		for _, path := range paths {
			if path == "/" || strings.ContainsRune(path, 0) {
				r.add(a.at(key), "agent '%s': 'sandbox' grants %q: name what it needs", a.Name, path)
			} else if _, err := os.Lstat(path); err != nil && strings.ContainsAny(strings.TrimPrefix(path, filepath.Dir(a.at(key).File)), "$*?[") {
				r.add(a.at(key), "agent '%s': '%s' has %q: variables and patterns are not filled in; write the path, which may begin with ~/", a.Name, key, path)
			}
		}
	}
}

// Unguarded reports whether an agent asks nobody, and nothing keeps it.
func (a *Agent) Unguarded() bool {
	return a.Approval == ApprovalBypass && !a.Sandbox.Enabled && !a.place().apart
}

// checkWorktree checks what an agent with a git worktree of its own needs. A
// worktree is part of its repository: who works in it writes into the
// repository's git directory, with its hooks and its configuration. An agent in
// a container or in a pod could have commands run outside.
func checkWorktree(a *Agent, r *report) {
	if a.Worktree && a.place().apart {
		r.add(a.at("worktree"), "agent '%s': 'worktree' does not go with runs_in = \"%s\": a worktree needs the repository's own git directory, where an agent could leave commands that run on this machine; let 'pre_start' clone the repository there", a.Name, a.RunsIn)
	}
	base := a.WorktreeBase
	if strings.HasPrefix(base, "-") || strings.ContainsFunc(base, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.add(a.at("worktree_base"), "agent '%s': 'worktree_base' is a branch, a tag or a commit, not %q", a.Name, base)
	}
}
