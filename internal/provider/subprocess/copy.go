package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/fault"
)

// CopyTo puts src at rel under the session's working directory. The kernel
// sees to it that nothing leaves that directory, whatever links are on the
// way. What is there already is replaced.
func (p *Provider) CopyTo(ctx context.Context, name, src, rel string) error {
	s, err := p.inspect(name)
	if err != nil {
		return err
	}
	if !filepath.IsLocal(rel) {
		return fault.Errorf(fault.Usage, "copy to session '%s': %q does not stay in its working directory", name, rel)
	}
	fi, err := os.Stat(src)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "copy to session '%s': %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("copy to session '%s': %w", name, err)
	}
	to, err := os.OpenRoot(s.record.WorkDir)
	if err != nil {
		return fault.Errorf(fault.Storage, "copy to session '%s': %w", name, err)
	}
	defer to.Close() // Best effort: a directory that was only opened.
	c := copier{ctx, to}
	if fi.IsDir() {
		err = c.tree(src, rel)
	} else if err = to.MkdirAll(filepath.Dir(rel), 0o755); err == nil {
		err = c.file(src, rel, fi.Mode())
	}
	if err != nil {
		return fmt.Errorf("copy to session '%s': %w", name, err)
	}
	return nil
}

// copier copies into one directory.
type copier struct {
	ctx context.Context
	to  *os.Root
}

func (c copier) tree(src, rel string) error {
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(rel, below)
		fi, err := os.Lstat(path)
		switch {
		case err != nil:
			return err
		case below == "." || fi.IsDir(): // src itself may be a link to a directory
			return c.to.MkdirAll(dst, fi.Mode().Perm()|0o700)
		case fi.Mode()&fs.ModeSymlink != 0:
			return c.link(path, dst)
		}
		return c.file(path, dst, fi.Mode())
	})
}

// link makes the same link: it may lead out, but nothing is written through
// it.
func (c copier) link(path, dst string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if err := c.to.Remove(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.to.Symlink(target, dst)
}

func (c copier) file(path, dst string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return fault.Errorf(fault.Unsupported, "%s is neither file, directory nor link", path)
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	out, err := c.to.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(mode.Perm()) // one that was there has its own
	}
	return errors.Join(err, out.Close())
}
