package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/lazy"
)

// View is a git directory of den's own that shows what is in a repository:
// its objects, references, index, and lists of ignored files are links to the
// repository's. Configuration, hooks and HEAD are not: den writes them, from a
// few settings whose values it knows. So git works with the repository, and
// finds nothing in it that names a program, a server or another file.
type View struct {
	Config Config // the repository's own: nothing of it is in force
	Head   Head

	git  Git
	repo Repository
	own  string // all that was made for it
	dir  string // for git, below own
	lock *os.File
}

// Open makes a view. The caller closes it.
func (g Git) Open(r Repository) (*View, error) {
	v := &View{git: g, repo: r}
	if err := v.make(); err != nil {
		v.Close()
		return nil, fault.Errorf(fault.KindOf(err), "look at the repository %s: %w", r.Common, err)
	}
	return v, nil
}

// Hold has all that git runs from now on hold a lock; it may be nil.
func (v *View) Hold(lock *os.File) { v.lock = lock }

// Close removes the view.
func (v *View) Close() {
	if v.own != "" {
		os.RemoveAll(v.own) // Best effort: it has small files only, in the directory for temporary ones.
	}
}

// What is linked of a git directory. The first list is shared by all trees, the
// other one each has for itself.
var (
	shared = []string{"objects", "refs", "packed-refs", "logs", "info", "shallow"}
	apart  = []string{"refs", "logs", "info"}
)

func (v *View) make() error {
	settings, err := v.settings()
	if err != nil {
		return err
	}
	if v.Head, err = v.repo.head(); err != nil {
		return err
	}
	if v.own, err = os.MkdirTemp("", "den-git-"); err != nil {
		return err
	}
	v.dir = filepath.Join(v.own, "git")
	err = errors.Join(os.Mkdir(v.dir, 0o700), links(v.dir, v.repo.Common, shared), write(v.dir, "config", settings), write(v.dir, "HEAD", v.Head.String()))
	if err != nil {
		return err
	}
	if v.repo.Dir == v.repo.Common {
		return v.linkIndex()
	}
	all := v.dir
	v.dir = filepath.Join(v.own, "tree")
	return errors.Join(os.Mkdir(v.dir, 0o700), links(v.dir, v.repo.Dir, apart), v.linkIndex(), write(v.dir, "HEAD", v.Head.String()), write(v.dir, "commondir", all))
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644)
}

// links links what is there. Of a missing one git makes its own.
func links(to, from string, names []string) error {
	for _, name := range names {
		_, err := os.Lstat(filepath.Join(from, name))
		if err == nil {
			err = os.Symlink(filepath.Join(from, name), filepath.Join(to, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

var sharedIndex = lazy.Regexp{Expr: `^sharedindex\.[0-9a-f]{40,64}$`}

// linkIndex links the index, even if it is not there yet, as git writes through
// the link; and what a split one continues.
func (v *View) linkIndex() error {
	if v.repo.Top == "" {
		return nil
	}
	entries, err := os.ReadDir(v.repo.Dir)
	if err != nil {
		return err
	}
	var parts []string
	for _, e := range entries {
		if sharedIndex.Get().MatchString(e.Name()) {
			parts = append(parts, e.Name())
		}
	}
	return errors.Join(os.Symlink(filepath.Join(v.repo.Dir, "index"), filepath.Join(v.dir, "index")), links(v.dir, v.repo.Dir, parts))
}

// Run returns what git prints, without the line end.
func (v *View) Run(ctx context.Context, args ...string) (string, error) {
	out := &bounded{most: maxText}
	err := v.Stream(ctx, nil, out, args...)
	if err == nil && out.cut {
		err = fault.Errorf(fault.Internal, "git %s: it printed more than %d bytes", verb(args), maxText)
	}
	return strings.TrimRight(out.String(), "\n"), err
}

// Stream has git read from in, which may be nil, and write to out.
func (v *View) Stream(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	err := v.git.run(ctx, call{dir: v.workDir(), env: append(v.git.plain(), v.environ()...), lock: v.lock, in: in, out: out, args: args})
	if said := (*failure)(nil); errors.As(err, &said) && v.Config.Last("extensions.partialclone") != "" {
		err = fault.Hintf(err, "it is a partial clone, and den fetches nothing for it: 'git fetch --refetch --no-filter' brings what may be missing")
	}
	return err
}

// workDir is where git runs: not where it would find another repository.
func (v *View) workDir() string {
	if v.repo.Top != "" {
		return v.repo.Top
	}
	return v.dir
}

func (v *View) environ() []string {
	env := []string{"GIT_DIR=" + v.dir}
	if v.repo.Top != "" {
		env = append(env, "GIT_WORK_TREE="+v.repo.Top)
	}
	return env
}
