// Package workdir puts files into a session's working directory, and never out
// of it.
package workdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
)

// Copy puts the file or directory src at rel under dir, the working directory
// of a session. The system itself sees to it that nothing is written outside
// it, whatever symbolic links lie on the way. What is there is replaced.
func Copy(ctx context.Context, session, dir, src, rel string) error {
	if !filepath.IsLocal(rel) {
		return fault.Errorf(fault.Usage, "copy to session '%s': '%s' is not below its working directory", session, rel)
	}
	fi, err := os.Stat(src)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "copy to session '%s': %w", session, err)
	}
	if err != nil {
		return fmt.Errorf("copy to session '%s': %w", session, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Errorf(fault.Storage, "copy to session '%s': %w", session, err)
	}
	defer root.Close() // Best effort: a directory that was only opened.
	c := copier{ctx, root}
	if fi.IsDir() {
		err = c.tree(src, rel)
	} else if err = root.MkdirAll(filepath.Dir(rel), 0o755); err == nil {
		err = c.file(src, rel, fi.Mode())
	}
	if err != nil {
		return fmt.Errorf("copy to session '%s': %w", session, err)
	}
	return nil
}

// copier copies into one directory.
type copier struct {
	ctx  context.Context
	root *os.Root
}

func (c copier) tree(src, rel string) error {
	src, err := filepath.EvalSymlinks(src) // the directory itself may be named by a link
	if err != nil {
		return err
	}
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		to := filepath.Join(rel, below)
		switch {
		case e.IsDir():
			return c.root.MkdirAll(to, fi.Mode().Perm()|0o700)
		case fi.Mode()&fs.ModeSymlink != 0:
			return c.link(path, to)
		}
		return c.file(path, to, fi.Mode())
	})
}

// link copies a symbolic link as it is: it may lead out, but nothing is ever
// written through it.
func (c copier) link(path, to string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if err := c.root.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.root.Symlink(target, to)
}

func (c copier) file(path, to string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return fault.Errorf(fault.Unsupported, "%s is no file, directory or link", path)
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	out, err := c.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(mode.Perm()) // one that was there has its own
	}
	return errors.Join(err, out.Close())
}
