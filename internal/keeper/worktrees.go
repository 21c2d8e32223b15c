package keeper

import (
	"fmt"
	"strings"
)

// Tree is how the git worktree of an agent was when it was last looked at.
type Tree struct {
	Path      string `json:"path"`
	Branch    string `json:"branch"` // that is checked out; "(detached)" for none
	Base      string `json:"base"`
	Ahead     int    `json:"ahead"`               // commits that the base does not have
	Behind    int    `json:"behind"`              // commits of the base that it does not have
	Changed   int    `json:"changed"`             // files with changes that are not committed
	Untracked int    `json:"untracked"`           // files, or directories of only such files
	BaseGone  bool   `json:"base_gone,omitempty"` // ahead and behind are not known
	Problem   string `json:"problem,omitempty"`   // why nothing is known but path, branch and base
}

// Dirty is how much in it is not committed.
func (t Tree) Dirty() int { return t.Changed + t.Untracked }

// String is for people, in few words: "den/team/coder, 2 ahead, 3 dirty".
func (t Tree) String() string {
	words := []string{t.Branch}
	if t.Problem != "" {
		return t.Branch + ": " + t.Problem
	}
	if t.Ahead > 0 {
		words = append(words, fmt.Sprintf("%d ahead", t.Ahead))
	}
	if n := t.Dirty(); n > 0 {
		words = append(words, fmt.Sprintf("%d dirty", n))
	}
	return strings.Join(words, ", ")
}

// Worktree is one worktree as it is, and whether it may be removed.
type Worktree struct {
	Agent string `json:"agent"`
	Tree
	Ignored int  `json:"ignored"` // files, or directories of only such files; they go with the tree
	Running bool `json:"running"` // its agent does, or may
	Merged  bool `json:"merged"`  // the base has all of its commits
	Pushed  bool `json:"pushed"`  // base and remotes have, as far as the repository knows
	// Keep is why a prune keeps it; Safe, if that is empty, where its work is.
	Keep string `json:"keep,omitempty"`
	Safe string `json:"safe,omitempty"`

	Removed       bool `json:"removed,omitempty"`
	BranchRemoved bool `json:"branch_removed,omitempty"`
}

// Worktrees lists those of a workspace, also of agents that it has no more.
type Worktrees struct {
	Worktrees []Worktree `json:"worktrees"`
	DryRun    bool       `json:"dry_run,omitempty"` // nothing was removed
	Problem   string     `json:"problem,omitempty"` // what could not be read
}

// Prune asks to remove worktrees whose work is elsewhere: all, or those of the
// agents named.
type Prune struct {
	Agents []string `json:"agents,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
}
