package worktree

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/base/statefile"
	"den/internal/process/git"
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

// A Location is where the worktree of a Spec is, or will be.
type Location struct {
	Spec
	Top     string // the working tree that Dir is in; "" where there was none
	Path    string // of the worktree
	WorkDir string // the agent's directory in it
	Branch  string
}

// Plan finds the location. It asks nobody but the file system, and makes nothing.
func Plan(s Spec) Location {
	dir := resolved(s.Dir)
	p := Location{Spec: s, Top: findTop(dir), Branch: "den/" + component(s.Workspace) + "/" + component(s.Agent)}
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
var hashed = lazy.Regexp{Expr: `-x[0-9a-f]{10}$`}

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
	plain := safe == flat && len(safe) <= maxComponent && safe == tidy(safe) && safe != "" && !hashed.Get().MatchString(safe)
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

// Record is what is known of a worktree that was made for an agent.
type Record struct {
	V         int       `json:"v"`
	State     string    `json:"state"`
	Agent     string    `json:"agent"`
	Workspace string    `json:"workspace"`
	Session   string    `json:"session"`
	Provider  string    `json:"provider"`
	Path      string    `json:"path"`              // of the tree
	Common    string    `json:"common"`            // the git directory of the repository
	GitDir    string    `json:"git_dir,omitempty"` // of the tree, in Common
	Branch    string    `json:"branch"`
	Base      string    `json:"base"` // a whole reference, or a commit
	Made      time.Time `json:"made"`
}

// The states of a record. They stand in files: add, never rename.
const (
	making = "making" // git may have made a part of it; nobody has worked there
	ready  = "ready"
)

const (
	recordVersion = 1
	recordName    = "worktree.json"
	maxRecord     = 64 << 10
)

// BaseName is the base for people: without what all branches begin with.
func (r Record) BaseName() string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		if name, ok := strings.CutPrefix(r.Base, prefix); ok {
			return name
		}
	}
	return r.Base[:min(len(r.Base), 12)]
}

func (r Record) slot() string { return filepath.Dir(r.Path) }

func (r Record) save() error {
	if err := os.MkdirAll(r.slot(), 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the place of a worktree: %w", err)
	}
	if err := statefile.Save(filepath.Join(r.slot(), recordName), recordVersion, r); err != nil {
		return fault.Errorf(fault.KindOf(err), "record a worktree: %w", err)
	}
	return nil
}

// forget removes the record and its slot.
func (r Record) forget() error {
	if err := os.Remove(filepath.Join(r.slot(), recordName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.KindOf(err), "forget a worktree: %w", err)
	}
	os.Remove(r.slot()) // Best effort: an empty directory harms nobody, and a full one stays.
	return nil
}

// readRecord returns the record of a slot: fault.NotFound for none.
func readRecord(slot string) (Record, error) {
	path := filepath.Join(slot, recordName)
	r, found, err := statefile.Load[Record](path, recordVersion, maxRecord)
	if err != nil {
		return r, fmt.Errorf("read the record of a worktree: %w", err)
	}
	if !found {
		return r, fault.Errorf(fault.NotFound, "no worktree in %s", slot)
	}
	if r.slot() != slot || filepath.Clean(r.Path) != r.Path || r.Agent == "" || r.Branch == "" || !filepath.IsAbs(r.Common) || (r.State != making && r.State != ready) {
		return r, fault.Errorf(fault.Storage, "the record of a worktree %s is damaged, or was moved", path)
	}
	return r, nil
}

// Made returns the record of a place: fault.NotFound where nothing was made.
func Made(p Location) (Record, error) { return readRecord(filepath.Dir(p.Path)) }

// Records returns all records below a root, by agent, and what could not be
// read.
func Records(root string) ([]Record, error) {
	root = resolved(root)
	slots, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "list worktrees: %w", err)
	}
	var all []Record
	var problems []error
	for _, slot := range slots {
		if !slot.IsDir() {
			continue
		}
		r, err := readRecord(filepath.Join(root, slot.Name()))
		switch {
		case err == nil:
			all = append(all, r)
		case fault.KindOf(err) != fault.NotFound:
			problems = append(problems, err)
		}
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.Agent, b.Agent) })
	return all, errors.Join(problems...)
}

// Git makes, looks at and removes worktrees with the git binary.
type Git git.Git

// view shows a worktree to git as it was made: the .git file in it could name
// another repository.
func (g Git) view(r Record) (*git.View, error) { return git.Git(g).Open(r.repository()) }

func (r Record) repository() git.Repository {
	return git.Repository{Top: r.Path, Dir: r.GitDir, Common: r.Common}
}

// lines calls take with every line that is written to it, as it comes.
type lines struct {
	end  byte // of a line
	take func(line string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, l.end)
		if i < 0 {
			return len(p), nil
		}
		l.take(string(l.rest[:i]))
		l.rest = l.rest[i+1:]
	}
}
