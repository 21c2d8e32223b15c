package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// AddTree makes a worktree of the repository known, with the branch that is to
// be checked out in it, which must be there. Its files come with Checkout.
// 'git worktree add' would start a git in the new tree, with the repository's
// configuration.
func (v *View) AddTree(path, branch string) (Repository, error) {
	r := Repository{Top: path, Common: v.repo.Common}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return r, err
	}
	var err error
	if r.Dir, err = freeDir(filepath.Join(r.Common, "worktrees"), filepath.Base(path)); err != nil {
		return r, err
	}
	err = errors.Join(
		write(r.Dir, "locked", "initializing"), // until Checkout: nobody prunes it
		write(r.Dir, "gitdir", filepath.Join(path, ".git")),
		write(r.Dir, "commondir", "../.."),
		write(r.Dir, "HEAD", "ref: refs/heads/"+branch),
		write(path, ".git", "gitdir: "+r.Dir),
		v.copySparse(r.Dir))
	return r, err
}

// freeDir makes a directory of a name like the wanted one.
func freeDir(parent, name string) (string, error) {
	name = strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e || strings.ContainsRune(`~^:?*[\/`, r) {
			return '-'
		}
		return r
	}, strings.Trim(name, "."))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	for i := 0; ; i++ {
		dir := filepath.Join(parent, name)
		if i > 0 || name == "" {
			dir = filepath.Join(parent, fmt.Sprintf("%s%d", name, i))
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// copySparse has a new tree check out what this one does.
func (v *View) copySparse(to string) error {
	if !isTrue(v.Config.Last("core.sparsecheckout")) {
		return nil
	}
	patterns, err := atomicfile.Read(filepath.Join(v.repo.Dir, "info", "sparse-checkout"), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(to, "info"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "info", "sparse-checkout"), patterns, 0o644)
	}
	if err == nil && isTrue(v.Config.Last("extensions.worktreeconfig")) {
		err = write(to, "config.worktree", fmt.Sprintf("[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = %v", isTrue(v.Config.Last("core.sparsecheckoutcone"))))
	}
	return err
}

// Checkout fills the empty tree of a view with the files of a commit. It
// returns how many of them have a filter, by its name: no filter was run.
func (v *View) Checkout(ctx context.Context, commit string) (map[string]int, error) {
	if _, err := v.Run(ctx, "read-tree", "--reset", "-u", commit); err != nil {
		return nil, err
	}
	var names, told bytes.Buffer
	if err := v.Stream(ctx, nil, &names, "ls-files", "-z"); err != nil {
		return nil, err
	}
	if err := v.Stream(ctx, &names, &told, "check-attr", "--stdin", "-z", "filter"); err != nil {
		return nil, err
	}
	filters := map[string]int{}
	for field := range slices.Chunk(strings.Split(told.String(), "\x00"), 3) { // name, attribute, value
		if len(field) == 3 && !slices.Contains([]string{"unspecified", "unset", "set"}, field[2]) {
			filters[field[2]]++
		}
	}
	return filters, errors.Join(v.beginLog(commit), os.Remove(filepath.Join(v.repo.Dir, "locked")))
}

// beginLog notes what a new tree began with, as git does: later the log tells
// what was made in it.
func (v *View) beginLog(commit string) error {
	logs := filepath.Join(v.repo.Dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	return write(logs, "HEAD", fmt.Sprintf("%s %s den <den> %d +0000\t", strings.Repeat("0", len(commit)), commit, time.Now().Unix()))
}

// Tree is a working tree that a repository knows.
type Tree struct {
	Dir  string   // its git directory
	Path string   // where it was when git last knew
	Refs []string // that it has checked out, or is at work on
}

// Trees lists the working trees of a repository, from its files alone.
func Trees(common string) ([]Tree, error) {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Tree{{Dir: common, Path: filepath.Dir(common)}}
	for _, e := range entries {
		dir := filepath.Join(common, "worktrees", e.Name())
		if dotGit, err := line(filepath.Join(dir, "gitdir")); err == nil {
			all = append(all, Tree{Dir: dir, Path: filepath.Dir(below(dir, dotGit))})
		}
	}
	for i, t := range all {
		if head, err := HeadOf(t.Dir); err == nil && head.Ref != "" {
			all[i].Refs = append(all[i].Refs, head.Ref)
		}
		for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
			if ref, err := line(filepath.Join(t.Dir, name)); err == nil {
				all[i].Refs = append(all[i].Refs, ref, "refs/heads/"+ref)
			}
		}
	}
	return all, nil
}

// Linked reports whether tree and repository name each other.
func (r Repository) Linked() bool { return r.names() && r.isNamed() }

// names reports whether the repository knows where the tree is.
func (r Repository) names() bool {
	there, err := line(filepath.Join(r.Dir, "gitdir"))
	return err == nil && sameFile(below(r.Dir, there), filepath.Join(r.Top, ".git"))
}

// isNamed reports whether the tree names the repository. What it has is the
// agent's to write: it may be anything.
func (r Repository) isNamed() bool {
	here, err := line(filepath.Join(r.Top, ".git"))
	dir, ok := strings.CutPrefix(here, "gitdir: ")
	return err == nil && ok && sameFile(below(r.Top, dir), r.Dir)
}

func sameFile(a, b string) bool {
	ia, aerr := os.Stat(a)
	ib, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ia, ib)
}

// Join has tree and repository name each other again, after one of them was
// moved.
func (r Repository) Join() error {
	dotGit := filepath.Join(r.Top, ".git")
	info, err := os.Lstat(dotGit)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fault.Errorf(fault.Storage, "%s is no file", dotGit)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if there, err := line(filepath.Join(r.Dir, "gitdir")); err != nil || below(r.Dir, there) != dotGit && !r.isNamed() {
		return fault.Errorf(fault.Storage, "neither of them knows the other")
	}
	if _, err := HeadOf(r.Dir); err != nil {
		return err
	}
	return errors.Join(
		atomicfile.Replace(dotGit, []byte("gitdir: "+r.Dir+"\n")),
		atomicfile.Replace(filepath.Join(r.Dir, "gitdir"), []byte(dotGit+"\n")))
}
