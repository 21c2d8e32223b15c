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
	trees := g.p.Trees
	if len(trees) == 0 {
		if t, ok := linkedTree(g.p.WorkDir); ok {
			trees = []Tree{t}
		}
	}
	for _, t := range trees {
		g.add(t.GitDir, true, "its worktree's own part of the repository")
		for _, name := range gitWrites {
			g.add(filepath.Join(t.Common, name), true, "git commits there")
		}
		g.add(t.Common, false, "its repository")
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
	trees := p.Trees
	if len(trees) == 0 {
		if t, ok := linkedTree(p.WorkDir); ok {
			trees = []Tree{t}
		}
	}
	for _, t := range trees {
		keep = append(keep, filepath.Join(t.GitDir, "commondir"), filepath.Join(t.GitDir, "gitdir"), filepath.Join(t.GitDir, "config.worktree"))
		for dir := p.WorkDir; dir != "/"; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
				keep = append(keep, filepath.Join(dir, ".git"))
				break
			}
		}
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

// linkedTree reads where the worktree at dir has its repository. The agent may
// have written what it reads, so it believes only a directory of worktrees that
// names this one, and that lies outside of what the agent writes.
func linkedTree(dir string) (Tree, bool) {
	file := filepath.Join(dir, ".git")
	text, ok := strings.CutPrefix(readLine(file), "gitdir: ")
	if !ok {
		return Tree{}, false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(dir, text)
	}
	gitDir, err := filepath.EvalSymlinks(text)
	if err != nil || within(gitDir, realPath(dir)) {
		return Tree{}, false
	}
	back := readLine(filepath.Join(gitDir, "gitdir"))
	if filepath.Base(filepath.Dir(gitDir)) != "worktrees" || realPath(back) != realPath(file) {
		return Tree{}, false
	}
	return Tree{GitDir: gitDir, Common: filepath.Dir(filepath.Dir(gitDir))}, true
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
