// Package datarepo reads and writes the files of an agent's data repository.
//
// The agent, its tools and its hooks write the same files, some of them from a
// container. So nothing here trusts what is there: no symbolic link leads out
// of the repository, a pipe or a device in the place of a file does not block,
// sizes are bounded, and keys that den does not know stay. Every file is
// replaced whole. What is read once, such as a notification, is removed only
// when it was delivered, and only if it is still what was read.
package datarepo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
)

// A Repo is an open data repository.
type Repo struct {
	root *os.Root
	path string
	lock string // of Edit
}

// Open opens the data repository in dir. locks is a directory of this user
// for lock files, which have no place in a directory that is committed; it is
// made if it is missing.
func Open(dir, locks string) (*Repo, error) {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(locks) {
		return nil, fault.Errorf(fault.Usage, "open data repository '%s': the path is not absolute", dir)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Hintf(fault.Errorf(fault.NotFound, "open data repository '%s': %w", dir, err), "if it was moved, remove the instance and register the new path")
	}
	if err != nil {
		return nil, fmt.Errorf("open data repository '%s': %w", dir, err)
	}
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("open data repository '%s': %w", dir, err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open data repository '%s': %w", dir, err)
	}
	sum := sha256.Sum256([]byte(resolved))
	return &Repo{root: root, path: resolved, lock: filepath.Join(locks, hex.EncodeToString(sum[:8])+".edit.lock")}, nil
}

// Close releases the directory.
func (r *Repo) Close() error { return r.root.Close() }

// Path is the directory, without symbolic links.
func (r *Repo) Path() string { return r.path }

// Edit calls change while no other process of den edits a file; change does not
// call Edit. Programs that are not den's take no lock: see Swap.
func (r *Repo) Edit(ctx context.Context, change func() error) error {
	lock, err := filelock.Wait(ctx, r.lock)
	if err != nil {
		return fmt.Errorf("edit data repository '%s': %w", r.path, err)
	}
	defer lock.Close() // Best effort: nothing was written to it.
	return change()
}

// Read returns a file's content and when it was last written. One with more
// than limit bytes is atomicfile.ErrTooLarge.
func (r *Repo) Read(name string, limit int64) ([]byte, time.Time, error) {
	f, err := atomicfile.OpenIn(r.root, name)
	if err != nil {
		return nil, time.Time{}, r.failed("read", name, err)
	}
	defer f.Close() // Best effort: it was only read.
	fi, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, r.failed("read", name, err)
	}
	data, err := atomicfile.ReadAll(f, name, limit)
	if err != nil {
		return nil, time.Time{}, r.failed("read", name, err)
	}
	return data, fi.ModTime(), nil
}

// readIf is Read of a file that may be missing.
func (r *Repo) readIf(name string, limit int64) (data []byte, modified time.Time, found bool, err error) {
	data, modified, err = r.Read(name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, false, nil
	}
	return data, modified, err == nil, err
}

// Write replaces a file, or makes it. The content is on the disk when Write
// returns.
func (r *Repo) Write(name string, data []byte) error { return r.write(name, data, nil) }

// ErrChanged means that a file is not what it was when it was read.
var ErrChanged = errors.New("another program has changed it meanwhile")

// Swap is Write of a file that was read as old, nil if it was missing. Where it
// has changed since, nothing is written and the error is ErrChanged.
func (r *Repo) Swap(name string, old, data []byte) error {
	return r.write(name, data, func() error {
		now, _, err := r.Read(name, int64(len(old)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if old == nil {
				return nil
			}
			return ErrChanged
		case errors.Is(err, atomicfile.ErrTooLarge):
			return ErrChanged
		case err != nil:
			return err
		case old == nil || !bytes.Equal(now, old):
			return ErrChanged
		}
		return nil
	})
}

func (r *Repo) write(name string, data []byte, ready func() error) error {
	err := r.root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = atomicfile.WriteIn(r.root, name, data, filePerm, ready)
	}
	if err != nil {
		return r.failed("write", name, err)
	}
	return nil
}

// Open opens a regular file for reading. It never blocks.
func (r *Repo) Open(name string) (*os.File, error) {
	f, err := atomicfile.OpenIn(r.root, name)
	if err != nil {
		return nil, r.failed("open", name, err)
	}
	return f, nil
}

// Stat describes what has a name. A link is not followed.
func (r *Repo) Stat(name string) (fs.FileInfo, error) {
	fi, err := r.root.Lstat(name)
	if err != nil {
		return nil, r.failed("look at", name, err)
	}
	return fi, nil
}

// Replace is Write without the wait for the disk: for what survives a crash of
// programs, and need not survive one of the machine.
func (r *Repo) Replace(name string, data []byte) error {
	err := r.root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = atomicfile.ReplaceIn(r.root, name, data)
	}
	if err != nil {
		return r.failed("write", name, err)
	}
	return nil
}

// filePerm is for new files: the agent may live in a container under another
// user's number.
const filePerm = 0o644

// Remove removes a file and reports whether it was there.
func (r *Repo) Remove(name string) (bool, error) {
	err := r.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, r.failed("remove", name, err)
	}
	return true, nil
}

// Executable reports whether a name is of a regular file that may be executed.
// A link inside of the repository is followed.
func (r *Repo) Executable(name string) (bool, error) {
	fi, err := r.root.Stat(name)
	if err != nil {
		return false, r.failed("look at", name, err)
	}
	return fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0, nil
}

// maxEntries bounds what is read of a directory.
const maxEntries = 100_000

// List returns the names in a directory, sorted, none if it is missing.
func (r *Repo) List(dir string) ([]string, error) {
	f, err := r.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.failed("list", dir, err)
	}
	defer f.Close() // Best effort: it was only read.
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.failed("list", dir, err)
	}
	if len(names) > maxEntries {
		return nil, r.failed("list", dir, fmt.Errorf("it has more than %d entries", maxEntries))
	}
	slices.Sort(names)
	return names, nil
}

// KeepAside renames a damaged file, so that a new one can be written and
// somebody can look at the old one. It returns the new name.
func (r *Repo) KeepAside(name string, now time.Time) (string, error) {
	stamp := name + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	aside := stamp
	for i := 1; ; i++ {
		if _, err := r.root.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", r.failed("keep aside", name, err)
		}
		aside = fmt.Sprintf("%s-%d", stamp, i)
	}
	if err := r.root.Rename(name, aside); err != nil {
		return "", r.failed("keep aside", name, err)
	}
	return aside, nil
}

func (r *Repo) failed(verb, name string, err error) error {
	return fmt.Errorf("%s '%s' of data repository '%s': %w", verb, name, r.path, err)
}
