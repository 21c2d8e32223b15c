package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// What git writes for a commit in a worktree: the rest of the repository is
// only read. Its configuration and its hooks are run by whoever uses git there.
var gitWrites = []string{"objects", "refs", "logs"}

// gitRuns is what git runs, or what says where that is. A name with a slash at
// its end is a directory.
var gitRuns = []string{"config", "config.worktree", "hooks/", "info/", "modules/"}

// repositories grants what git needs of the repository in which the agent works.
func (g *granter) repositories() {
	for _, t := range g.p.trees() {
		g.add(t.gitDir, true, "its worktree's own part of the repository")
		for _, name := range gitWrites {
			g.add(filepath.Join(t.common, name), true, "git commits there")
		}
		g.add(t.common, false, "its repository")
	}
	if dir := ownRepository(g.p.WorkDir); dir != "" && !g.inWritten(dir) {
		g.add(dir, true, "its repository") // above its directory; see runsByGit
	}
}

// runsByGit is what must stay as it is in the repositories that the agent
// writes.
func (p Policy) runsByGit() (protect, keep []string) {
	if dir := ownRepository(p.WorkDir); dir != "" {
		for _, name := range gitRuns {
			protect = append(protect, filepath.Join(dir, name)+slash(name))
		}
	}
	for _, t := range p.trees() {
		keep = append(keep, t.file, filepath.Join(t.gitDir, "commondir"), filepath.Join(t.gitDir, "gitdir"), filepath.Join(t.gitDir, "config.worktree"))
	}
	return protect, keep
}

func slash(name string) string {
	if strings.HasSuffix(name, "/") {
		return "/"
	}
	return ""
}

// ownRepository is the .git directory that git would use in dir, "" for none.
func ownRepository(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.IsDir() {
				return git
			}
			return ""
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

// A tree is a git worktree of a repository that lies elsewhere.
type tree struct {
	file   string // .git in the worktree
	gitDir string // of the worktree alone
	common string // of the whole repository
}

// trees are the worktrees that the agent writes.
func (p Policy) trees() []tree {
	var all []tree
	for _, dir := range p.writable() {
		if t, ok := linkedTree(dir); ok {
			all = append(all, t)
		}
	}
	return all
}

// linkedTree reads where the worktree at dir has its repository. The agent may
// have written what it reads, so it believes only a directory of worktrees that
// names this one, and that lies outside of what the agent writes.
func linkedTree(dir string) (tree, bool) {
	file := filepath.Join(dir, ".git")
	text, ok := strings.CutPrefix(readLine(file), "gitdir: ")
	if !ok {
		return tree{}, false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(dir, text)
	}
	gitDir, err := filepath.EvalSymlinks(text)
	if err != nil || within(gitDir, realPath(dir)) {
		return tree{}, false
	}
	back := readLine(filepath.Join(gitDir, "gitdir"))
	if filepath.Base(filepath.Dir(gitDir)) != "worktrees" || realPath(back) != realPath(file) {
		return tree{}, false
	}
	return tree{file: file, gitDir: gitDir, common: filepath.Dir(filepath.Dir(gitDir))}, true
}

// readLine is the first line of a small file, "" where there is none.
func readLine(file string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// protected is everything that must stay as it is: what the policy says, and
// what git runs.
func (p Policy) protected() (protect, keep []string) {
	protect, keep = p.runsByGit()
	return append(protect, p.Protect...), append(keep, p.Keep...)
}
