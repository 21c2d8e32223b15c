package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/lazy"
)

const (
	maxPacked = 64 << 20 // of a list of references
	maxTaken  = 16 << 30 // of all objects
)

// Taken is what is checked out in a repository that nobody trusts, and a copy
// of its objects.
type Taken struct {
	*View
	Commit string // "" where the branch has none

	root *os.Root
}

// Take copies the objects of the repository in root to store, a directory of
// den's own that a later call goes on with. Nothing outside of root is read, and
// git does not run: the repository may have been made to mislead it, and may
// change meanwhile. One that has parts elsewhere is fault.Denied.
func (g Git) Take(ctx context.Context, root *os.Root, store string) (*Taken, error) {
	t := &Taken{View: &View{git: g, dir: store}, root: root}
	err := whole(root)
	if err == nil {
		err = t.read()
	}
	if err == nil && t.Commit != "" {
		err = t.fill(ctx)
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "take the commits of %s: %w", root.Name(), err)
	}
	return t, nil
}

// whole refuses a repository that has a part elsewhere.
func whole(root *os.Root) error {
	info, err := root.Lstat(".git")
	if err == nil && !info.IsDir() {
		err = fault.Errorf(fault.Denied, "its .git is not a directory")
	}
	for _, name := range []string{".git/HEAD", ".git/config", ".git/objects", ".git/refs", ".git/packed-refs", ".git/shallow"} {
		if part, missing := root.Lstat(name); err == nil && missing == nil && part.Mode()&fs.ModeSymlink != 0 {
			err = fault.Errorf(fault.Denied, "it has a link %s", name)
		}
	}
	for _, name := range []string{".git/commondir", ".git/objects/info/alternates", ".git/objects/info/http-alternates"} {
		if _, missing := root.Lstat(name); err == nil && !errors.Is(missing, fs.ErrNotExist) {
			err = fault.Errorf(fault.Denied, "it has a file %s", name)
		}
	}
	return err
}

// read finds what is checked out.
func (t *Taken) read() error {
	raw, err := readIn(t.root, ".git/config", maxConfig)
	if err != nil {
		return err
	}
	if t.Config, err = ParseConfig(raw); err != nil {
		return fault.Errorf(fault.Storage, "read its configuration: %w", err)
	}
	if raw, err = readIn(t.root, ".git/HEAD", maxSmall); err != nil {
		return err
	}
	if t.Head, err = parseHead(raw); err != nil || t.Head.Ref == "" {
		return err
	}
	t.Commit, err = refIn(t.root, t.Head.Ref)
	return err
}

// readIn reads a file below root; a missing one is empty.
func readIn(root *os.Root, name string, most int64) (string, error) {
	f, err := atomicfile.OpenIn(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close() // Best effort: it was only read.
	raw, err := atomicfile.ReadAll(f, name, most)
	return string(raw), err
}

// refIn is the commit of a reference, "" for none.
func refIn(root *os.Root, ref string) (string, error) {
	text, err := readIn(root, ".git/"+ref, maxSmall)
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text != "" {
		if !commitName.Get().MatchString(text) {
			return "", fault.Errorf(fault.Denied, "its %s has %.100q, which is no commit", ref, text)
		}
		return text, nil
	}
	packed, err := readIn(root, ".git/packed-refs", maxPacked)
	for line := range strings.Lines(packed) {
		if hash, name, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); name == ref && commitName.Get().MatchString(hash) {
			return hash, err
		}
	}
	return "", err
}

// fill makes the store a repository with what the agent's has.
func (t *Taken) fill(ctx context.Context) error {
	format, err := t.Config.format()
	if err != nil {
		return err
	}
	shallow, err := readIn(t.root, ".git/shallow", maxPacked)
	if err != nil {
		return err
	}
	err = errors.Join(os.MkdirAll(filepath.Join(t.dir, "objects", "pack"), 0o700), os.MkdirAll(filepath.Join(t.dir, "refs"), 0o700),
		write(t.dir, "config", fixedSettings(true, format)), write(t.dir, "HEAD", "ref: refs/heads/none"), os.Remove(filepath.Join(t.dir, "shallow")))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // there was no list of shallow commits
	}
	if err == nil && shallow != "" {
		err = os.WriteFile(filepath.Join(t.dir, "shallow"), []byte(shallow), 0o600)
	}
	if err != nil {
		return err
	}
	return t.copyObjects(ctx)
}

// object is the name of a file with objects, below the directory of objects.
var object = lazy.Regexp{Expr: `^([0-9a-f]{2}/([0-9a-f]{38}|[0-9a-f]{62})|pack/pack-([0-9a-f]{40}|[0-9a-f]{64})\.(pack|idx))$`}

// copyObjects brings the store's objects up to the agent's: new files are
// copied, others are removed. A file with objects has a name that changes with
// its content.
func (t *Taken) copyObjects(ctx context.Context) error {
	const from = ".git/objects"
	objects, left := filepath.Join(t.dir, "objects"), int64(maxTaken)
	have := map[string]bool{}
	err := fs.WalkDir(t.root.FS(), from, func(name string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, from+"/")
		switch {
		case err == nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && name != from:
			return nil // removed meanwhile
		case err != nil || e.IsDir():
			return err
		case e.Type()&fs.ModeSymlink != 0:
			return fault.Errorf(fault.Denied, "it has a link %s", name)
		case !object.Get().MatchString(rel):
			return nil // git needs no other ones
		}
		have[rel] = true
		n, err := copyFile(t.root, name, filepath.Join(objects, rel), left)
		left -= n
		return err
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(objects, func(file string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(objects, file)
		if err = errors.Join(err, relErr); err != nil || e.IsDir() || have[filepath.ToSlash(rel)] {
			return err
		}
		return os.Remove(file)
	})
}

// copyFile copies a file below root to a place that den owns, unless it is there
// with the same size and time. It returns the file's size.
func copyFile(root *os.Root, name, to string, most int64) (int64, error) {
	f, err := atomicfile.OpenIn(root, name)
	if err != nil {
		return 0, err
	}
	defer f.Close() // Best effort: it was only read.
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > most {
		return 0, fault.Errorf(fault.Denied, "it has more than %d GiB of objects", maxTaken>>30)
	}
	if had, err := os.Lstat(to); err == nil && had.Mode().IsRegular() && had.Size() == info.Size() && had.ModTime().Equal(info.ModTime()) {
		return info.Size(), nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	half := to + ".half"
	out, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(out, io.LimitReader(f, info.Size()))
	err = errors.Join(err, out.Close(), os.Chtimes(half, info.ModTime(), info.ModTime()))
	if err == nil {
		err = os.Rename(half, to)
	}
	return info.Size(), err
}

// Track notes in the repository that a branch of a remote is at the commit, as
// git does after a push. It takes git's own lock.
func (t *Taken) Track(remote, branch string) error {
	ref := "refs/remotes/" + remote + "/" + branch
	if !isRef(ref) {
		return fault.Errorf(fault.Denied, "%.100q is no name of a reference", ref)
	}
	file := ".git/" + ref
	if err := t.root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := t.root.OpenFile(file+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(t.Commit + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = t.root.Rename(file+".lock", file)
	}
	if err != nil {
		t.root.Remove(file + ".lock") // Best effort: it is the agent's own, and git says so.
	}
	return err
}
