package worktree

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A Spec is the worktree that an agent should have.
type Spec struct {
	Root      string // of all worktrees of the workspace, absolute
	Workspace string // its name
	Agent     string // its qualified name
	Dir       string // the agent's as the file has it, absolute: in the repository
	Base      string // a branch, a tag or a commit; "" for the branch that is checked out in Dir

	// Session and Provider tell later whether the agent runs.
	Session  string
	Provider string
}

// A Place is where the worktree of a Spec is, or will be.
type Place struct {
	Spec
	Top     string // the working tree that Dir is in; "" where there was none
	Path    string // of the worktree
	WorkDir string // the agent's directory in it
	Branch  string
}

// Plan finds the place. It asks nobody but the file system, and makes nothing.
func Plan(s Spec) Place {
	dir := resolved(s.Dir)
	p := Place{Spec: s, Top: findTop(dir), Branch: "den/" + component(s.Workspace) + "/" + component(s.Agent)}
	top := p.Top
	if top == "" {
		top = dir // what is made there later says what is wrong
	}
	p.Path = filepath.Join(resolved(s.Root), component(s.Agent), treeName(top))
	p.WorkDir = p.Path
	if below, err := filepath.Rel(top, dir); err == nil {
		p.WorkDir = filepath.Join(p.Path, below)
	}
	return p
}

// treeName is what the worktree is called: as the repository, because programs
// show that name.
func treeName(top string) string {
	switch name := filepath.Base(top); name {
	case string(filepath.Separator), ".", recordName:
		return "repository"
	default:
		return name
	}
}

// resolved is the path without symbolic links, as git tells paths; the path itself
// where that is not known.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// findTop returns the nearest directory upwards that has a .git, or "".
func findTop(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// maxComponent leaves room in a file name for what git adds.
const maxComponent = 100

// hashed is the form of a component that ends in a hash.
var hashed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-x[0-9a-f]{10}$`) })

// component makes one part of a path and of a branch's name out of a name.
// Distinct names have distinct ones, and none is below another: a branch cannot
// be both a name and a directory of names.
func component(name string) string {
	flat := strings.ReplaceAll(name, "/", "--")
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, flat)
	plain := safe == flat && len(safe) <= maxComponent && safe == tidy(safe) && safe != "" && !hashed().MatchString(safe)
	readable := !strings.Contains(name, "--") && !strings.Contains(name, "-/") && !strings.Contains(name, "/-") && !strings.Contains(name, "//")
	if plain && readable {
		return safe
	}
	sum := sha256.Sum256([]byte(name))
	safe = tidy(safe)
	return fmt.Sprintf("%s-x%x", safe[:min(len(safe), maxComponent-12)], sum[:5])
}

// tidy leaves out what git does not take in a branch's name.
func tidy(s string) string {
	s = strings.Trim(s, ".-")
	for strings.Contains(s, "..") {
		s = strings.ReplaceAll(s, "..", ".")
	}
	if strings.HasSuffix(strings.ToLower(s), ".lock") {
		s += "_"
	}
	return s
}
