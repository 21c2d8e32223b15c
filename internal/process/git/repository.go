package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/lazy"
)

// Repository is where the parts of a repository are.
type Repository struct {
	Top    string // the working tree; "" where none is meant
	Dir    string // the git directory of this tree
	Common string // the one that all trees of the repository share
}

// maxSmall bounds the files of a git directory that have one line.
const maxSmall = 64 << 10

// Find finds the repository around a directory, from its files alone:
// fault.NotFound where there is none.
func Find(dir string) (Repository, error) {
	for top := dir; ; top = filepath.Dir(top) {
		_, err := os.Lstat(filepath.Join(top, ".git"))
		switch {
		case err == nil:
			return At(top)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return Repository{}, fault.Errorf(fault.KindOf(err), "find the git repository of %s: %w", dir, err)
		case top == filepath.Dir(top):
			return Repository{}, fault.Errorf(fault.NotFound, "%s is in no git repository", dir)
		}
	}
}

// At returns the repository whose working tree is top.
func At(top string) (Repository, error) {
	r := Repository{Top: top, Dir: filepath.Join(top, ".git")}
	info, err := os.Stat(r.Dir)
	if err == nil && !info.IsDir() {
		var text string
		text, err = line(r.Dir)
		to, ok := strings.CutPrefix(text, "gitdir: ")
		if err == nil && !ok {
			err = errors.New("it names no git directory")
		}
		r.Dir = below(top, to)
	}
	if err == nil {
		r.Common, err = common(r.Dir)
	}
	if err == nil && r.Common != r.Dir && r.Common != filepath.Dir(filepath.Dir(r.Dir)) {
		err = fault.Errorf(fault.Denied, "its commondir leads to %s, which is not the repository that it is in", r.Common)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return r, fault.Errorf(fault.KindOf(err), "read the git repository %s: %w", filepath.Join(top, ".git"), err)
	}
	return r, nil
}

// check reports what a repository lacks.
func (r Repository) check() error {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(r.Common, name)); err != nil {
			return err
		} else if !info.IsDir() {
			return fault.Errorf(fault.Storage, "%s is no directory", filepath.Join(r.Common, name))
		}
	}
	_, err := r.head()
	return err
}

// common is the git directory that one of a worktree belongs to; another one
// is its own.
func common(dir string) (string, error) {
	to, err := line(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	return below(dir, to), err
}

// line reads a file of one line.
func line(path string) (string, error) {
	raw, err := atomicfile.Read(path, maxSmall)
	return strings.TrimRight(string(raw), "\r\n"), err
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Head is what is checked out: a branch, or a commit.
type Head struct {
	Ref    string // such as refs/heads/main; "" for none
	Commit string // where Ref is ""
}

// Branch is the name of the branch, "" for none.
func (h Head) Branch() string {
	name, ok := strings.CutPrefix(h.Ref, "refs/heads/")
	if !ok {
		return ""
	}
	return name
}

func (h Head) String() string {
	if h.Ref == "" {
		return h.Commit
	}
	return "ref: " + h.Ref
}

var (
	refName    = lazy.Regexp{Expr: `^refs(/[^/\x00-\x20\x7f~^:?*\[\\]+)+$`}
	commitName = lazy.Regexp{Expr: `^([0-9a-f]{40}|[0-9a-f]{64})$`}
)

// isRef reports whether a name is one of a reference: it stays below refs.
func isRef(name string) bool {
	bad := func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.HasSuffix(part, ".") || strings.Contains(part, "..")
	}
	return len(name) < 1000 && refName.Get().MatchString(name) && !slices.ContainsFunc(strings.Split(name, "/"), bad)
}

// parseHead reads the text of a HEAD.
func parseHead(text string) (Head, error) {
	text = strings.TrimRight(text, " \r\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok && isRef(strings.TrimLeft(ref, " ")) {
		return Head{Ref: strings.TrimLeft(ref, " ")}, nil
	}
	if commitName.Get().MatchString(text) {
		return Head{Commit: text}, nil
	}
	return Head{}, fault.Errorf(fault.Storage, "%.100q is no HEAD", text)
}

// head reads what is checked out.
func (r Repository) head() (Head, error) { return HeadOf(r.Dir) }

// HeadOf reads what is checked out in the tree of a git directory.
func HeadOf(dir string) (Head, error) {
	path := filepath.Join(dir, "HEAD")
	if to, err := os.Readlink(path); err == nil && isRef(to) { // as git once made them
		return Head{Ref: to}, nil
	}
	text, err := line(path)
	if err != nil {
		return Head{}, err
	}
	return parseHead(text)
}

// Clone clones a repository for the user, who is asked for nothing. What git
// says goes to stderr.
func (g Git) Clone(ctx context.Context, url, branch, dir string, stderr io.Writer) error {
	args := []string{"clone", "--quiet"}
	if branch != "" {
		args = append(args, "--branch="+branch)
	}
	if err := g.run(ctx, call{env: g.online(""), err: stderr, sweep: true, args: append(args, "--", url, dir)}); err != nil {
		return fault.Errorf(fault.KindOf(err), "clone %s: %w", url, err)
	}
	return nil
}

// Init puts a directory under version control, unless it is.
func (g Git) Init(ctx context.Context, dir string) error {
	if IsTop(dir) {
		return nil
	}
	if err := g.run(ctx, call{dir: dir, env: g.online(""), args: []string{"init", "--quiet"}}); err != nil {
		return fault.Errorf(fault.KindOf(err), "put %s under version control: %w", dir, err)
	}
	return nil
}

// IsTop reports whether a directory is the top of a working tree.
func IsTop(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// Origin is the URL that 'git push' goes to in a working tree, as its own
// configuration says; "" for none.
func Origin(top string) (string, error) {
	r, err := At(top)
	if err != nil {
		return "", err
	}
	c, err := readConfig(filepath.Join(r.Common, "config"))
	if url := c.Last("remote.origin.pushurl"); url != "" || err != nil {
		return url, err
	}
	return c.Last("remote.origin.url"), nil
}

// scpLike is user@host:path.
var scpLike = lazy.Regexp{Expr: `^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^:]`}

// IsRemote reports whether a push to a URL runs nothing on this machine but ssh
// or git's own https client.
func IsRemote(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "ssh://") || scpLike.Get().MatchString(url)
}

// Push pushes a commit to a branch of another repository, with the user's keys,
// without force and without hooks. It returns what git says with --porcelain.
//
// The URL is one that IsRemote knows, or the path of a bare repository on this
// machine. The other side of the push runs here then: it gets a view of that
// repository, and so runs no hooks of it either.
func (v *View) Push(ctx context.Context, url, commit, branch string) (string, error) {
	protocols := "https:ssh"
	if path, ok := localPath(url); ok {
		there, err := v.git.openBare(path)
		if err != nil {
			return "", err
		}
		defer there.Close()
		url, protocols = there.dir, "file"
	} else if !IsRemote(url) {
		return "", fault.Errorf(fault.Denied, "den pushes to https and ssh URLs, and to bare repositories of this machine")
	}
	if !isRef("refs/heads/" + branch) {
		return "", fault.Errorf(fault.Denied, "the branch's name %.100q is not one that den pushes", branch)
	}
	ssh, err := v.ssh(ctx, protocols)
	if err != nil {
		return "", err
	}
	args := []string{"push", "--porcelain", "--recurse-submodules=no", "--no-verify", "--", url, commit + ":refs/heads/" + branch}
	return v.online(ctx, call{sweep: true, args: args}, protocols, "GIT_SSH_COMMAND="+ssh)
}

func localPath(url string) (string, bool) {
	path := strings.TrimPrefix(url, "file://")
	return path, filepath.IsAbs(path)
}

// openBare makes a view of a repository that has no working tree.
func (g Git) openBare(path string) (*View, error) {
	r := Repository{Dir: path, Common: path}
	if err := r.check(); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "push to %s: it is no bare git repository: %w", path, err)
	}
	v, err := g.Open(r)
	if err == nil && !isTrue(v.Config.Last("core.bare")) {
		v.Close()
		err = fault.Errorf(fault.Denied, "push to %s: it is no bare git repository", path)
	}
	return v, err
}

// online runs git with the user's own configuration.
func (v *View) online(ctx context.Context, c call, protocols string, env ...string) (string, error) {
	out := &bounded{most: maxText}
	c.dir, c.out, c.env = v.dir, out, append(append(v.git.online(protocols), v.environ()...), env...)
	err := v.git.run(ctx, c)
	return out.String(), err
}

// ssh is the user's ssh command, told not to ask for anything.
func (v *View) ssh(ctx context.Context, protocols string) (string, error) {
	const quiet = " -o BatchMode=yes"
	if own := v.git.getenv("GIT_SSH_COMMAND"); own != "" {
		return own + quiet, nil
	}
	own, err := v.online(ctx, call{args: []string{"config", "--get", "core.sshCommand"}}, protocols)
	if err != nil && !Exited(err, 1) {
		return "", err
	}
	if own = strings.TrimSpace(own); own == "" {
		own = "ssh"
	}
	return own + quiet, nil
}
