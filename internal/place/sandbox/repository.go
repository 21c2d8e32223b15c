package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/process/git"
)

// gitWrites is what git writes for a commit in a worktree, besides the
// worktree's own part: nothing there says what runs. Everything else in a git
// directory is only read, whatever it is called: git looks for what it runs by
// many names, and a directory in which files can be made takes any name.
var gitWrites = []string{"objects", "refs", "logs"}

// repositories grants what git needs of the repository in which the agent works.
func (g *granter) repositories() {
	for _, t := range g.p.trees() {
		g.put(grant{path: t.gitDir, write: true, plain: true, why: "its worktree's own part of the repository"})
		for _, name := range gitWrites {
			g.put(grant{path: filepath.Join(t.common, name), write: true, plain: true, why: "git commits there"})
		}
		g.add(t.common, false, "its repository")
	}
	if top := ownRepository(g.p.WorkDir); top != "" && !g.inWritten(top+"/.git") {
		g.add(top+"/.git", false, "its repository") // above its directory
	}
}

// runsByGit is what must stay as it is in the repositories in which the agent
// writes, so that git runs nothing of it there.
func (p Policy) runsByGit() (protect, keep []string, err error) {
	for _, dir := range p.writable() {
		name := filepath.Join(dir, ".git")
		switch info, err := os.Lstat(name); {
		case err != nil || slices.Contains(p.Write, name): // it is missing, or granted by its name
		case info.Mode().IsRegular():
			keep = append(keep, name)
		default:
			protect = append(protect, name)
		}
		modules, err := p.modules(dir)
		if err != nil {
			return nil, nil, err
		}
		protect = append(protect, modules...)
	}
	for _, t := range p.trees() {
		keep = append(keep, filepath.Join(t.gitDir, "commondir"), filepath.Join(t.gitDir, "gitdir"), filepath.Join(t.gitDir, "config.worktree"),
			filepath.Join(t.common, "objects/info")+"/") // alternates: others' objects
	}
	return protect, keep, nil
}

// modules is where the submodules in dir have their repositories: git goes on
// in there. Of one that is not checked out, it is the whole directory.
func (p Policy) modules(dir string) ([]string, error) {
	top := ownRepository(dir)
	if top == "" || slices.Contains(p.Write, filepath.Join(top, ".git")) {
		return nil, nil
	}
	names, err := git.Submodules(top)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		path := filepath.Join(top, name)
		switch _, err := os.Lstat(filepath.Join(path, ".git")); {
		case !within(path, dir):
		case err == nil:
			all = append(all, filepath.Join(path, ".git"))
		default:
			all = append(all, path+"/")
		}
	}
	return all, nil
}

// ownRepository is the directory around dir, or dir, that has a git directory
// of its own, "" for none.
func ownRepository(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if info.IsDir() {
				return dir
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
	return tree{gitDir: gitDir, common: filepath.Dir(filepath.Dir(gitDir))}, true
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
func (p Policy) protected() (protect, keep []string, err error) {
	protect, keep, err = p.runsByGit()
	return append(protect, p.Protect...), append(keep, p.Keep...), err
}
