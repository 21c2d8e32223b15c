package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
)

// stager copies a tree into a work directory. Both ends are opened as roots:
// no link, however it comes to be there, leads out of either.
type stager struct {
	from, to *os.Root
	base     string // where in the work directory, slash-separated
	replace  bool   // put new files in the place of old ones
	copied   int
	kept     int // were there before, and were left alone
}

// overlayDir copies the directory src over dir. What is there stays as it is.
func overlayDir(ctx context.Context, src, dir string) (string, error) {
	s, err := stage(ctx, src, ".", dir, ".", false)
	return s, wrapStage("overlay "+src, err)
}

// copyEntry puts the file or directory src at dst below dir, over what is
// there.
func copyEntry(ctx context.Context, src, dst, dir string) (string, error) {
	src = filepath.Clean(src)
	info, err := os.Stat(src)
	if err != nil {
		return "", wrapStage("copy "+src, err)
	}
	if there, err := os.Stat(filepath.Join(dir, dst)); err == nil && os.SameFile(info, there) {
		return "the same file", nil
	}
	from, name := src, "."
	if !info.IsDir() {
		from, name = filepath.Dir(src), filepath.Base(src)
	}
	s, err := stage(ctx, from, name, dir, filepath.ToSlash(filepath.Clean(dst)), true)
	return s, wrapStage("copy "+src, err)
}

func wrapStage(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fault.Errorf(fault.NotFound, "%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func stage(ctx context.Context, src, name, dir, base string, replace bool) (string, error) {
	from, err := os.OpenRoot(src)
	if err != nil {
		return "", err
	}
	defer from.Close() // Best effort: it was only read.
	to, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer to.Close() // Best effort: files are closed, and checked, one by one.
	s := &stager{from: from, to: to, base: base, replace: replace}
	if name != "." {
		err = s.one(ctx, name, base)
	} else {
		err = fs.WalkDir(from.FS(), ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return s.one(ctx, p, path.Join(s.base, p))
		})
	}
	return fmt.Sprintf("%d copied, %d kept", s.copied, s.kept), err
}

// one copies one file, link or directory without what is in it.
func (s *stager) one(ctx context.Context, src, dst string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := s.from.Lstat(src)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		if dst == "." {
			return nil
		}
		return s.to.MkdirAll(dst, 0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		return s.link(src, dst)
	case !info.Mode().IsRegular():
		return fault.Errorf(fault.Usage, "'%s' is neither a file nor a directory", src)
	}
	if dir := path.Dir(dst); dir != "." {
		if err := s.to.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return s.file(src, dst, 0o600|info.Mode().Perm()&0o100)
}

// link makes the same link again, if it stays inside.
func (s *stager) link(src, dst string) error {
	target, err := s.from.Readlink(src)
	if err != nil {
		return err
	}
	if err := checkLink(src, dst, target); err != nil {
		return err
	}
	err = s.to.Symlink(target, dst)
	return s.count(err)
}

// checkLink refuses a link at dst that leads out of the work directory.
func checkLink(src, dst, target string) error {
	if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(dst)), target)) {
		return fault.Hintf(fault.Errorf(fault.Denied, "link '%s' leads out of the work directory, to '%s'", src, target),
			"put the file itself there, or name it in copy_files")
	}
	return nil
}

func (s *stager) count(err error) error {
	switch {
	case err == nil:
		s.copied++
	case errors.Is(err, fs.ErrExist):
		s.kept++
	default:
		return err
	}
	return nil
}

// file writes beside the place and then moves there in one step: a copy that
// is cut off leaves no half of a file that later starts would keep.
func (s *stager) file(src, dst string, mode fs.FileMode) error {
	if !s.replace {
		if _, err := s.to.Lstat(dst); err == nil {
			s.kept++
			return nil
		}
	}
	part := path.Join(path.Dir(dst), ".den-"+rand.Text()[:10])
	if err := s.write(src, part, mode); err != nil {
		s.to.Remove(part) // Best effort: the copy has failed already.
		return err
	}
	if s.replace {
		if err := s.to.Rename(part, dst); err != nil {
			s.to.Remove(part) // Best effort.
			return err
		}
		s.copied++
		return nil
	}
	err := s.to.Link(part, dst) // fails where something is
	s.to.Remove(part)           // Best effort: one name too many harms nobody.
	if err == nil || errors.Is(err, fs.ErrExist) {
		return s.count(err)
	}
	err = s.write(src, dst, mode) // no hard links here: O_EXCL all the same
	if err != nil && !errors.Is(err, fs.ErrExist) {
		s.to.Remove(dst) // Best effort: only this call can have made it.
	}
	return s.count(err)
}

func (s *stager) write(src, dst string, mode fs.FileMode) error {
	in, err := s.from.Open(src)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	out, err := s.to.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// localPath reports whether a destination stays below the work directory.
func localPath(dst string) bool { return filepath.IsLocal(dst) && !strings.ContainsRune(dst, 0) }
