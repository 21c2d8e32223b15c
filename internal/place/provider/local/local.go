// Package local stages files and runs commands on this machine, for providers
// whose sessions run here.
package local

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Place is this machine.
type Place struct{}

var (
	_ provider.Stager = Place{}
	_ provider.Execer = Place{}
)

// Stage unpacks files below the working directory.
func (Place) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	if !filepath.IsAbs(c.WorkDir) {
		return fault.Errorf(fault.Usage, "stage files for session '%s': working directory '%s' is not an absolute path", name, c.WorkDir)
	}
	if err := os.MkdirAll(c.WorkDir, 0o755); err != nil {
		return fault.Errorf(fault.Storage, "stage files for session '%s': %w", name, err)
	}
	root, err := os.OpenRoot(c.WorkDir)
	if err != nil {
		return fault.Errorf(fault.Storage, "stage files for session '%s': %w", name, err)
	}
	defer root.Close() // Best effort: a directory that was only opened.
	u := unpacker{root: root, options: o}
	archive := tar.NewReader(files)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stage files for session '%s': %w", name, err)
		}
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.Errorf(fault.Usage, "stage files for session '%s': read archive: %w", name, err)
		}
		if err := u.entry(h, archive); err != nil {
			return fmt.Errorf("stage files for session '%s': %w", name, err)
		}
	}
}

// unpacker writes the entries of an archive below one directory: the system
// itself sees to it that no symbolic link leads out.
type unpacker struct {
	root    *os.Root
	options provider.StageOptions
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	path := filepath.Clean(h.Name)
	if !filepath.IsLocal(path) {
		return fault.Errorf(fault.Usage, "'%s' is not below the working directory", h.Name)
	}
	if u.options.Progress != nil {
		u.options.Progress(path)
	}
	mode := h.FileInfo().Mode().Perm()
	if h.Typeflag == tar.TypeDir {
		return u.root.MkdirAll(path, mode|0o700)
	}
	if err := u.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	there, err := u.makeRoom(path)
	if there || err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return u.file(path, mode, content)
	case tar.TypeSymlink:
		return u.root.Symlink(h.Linkname, path) // it may lead out; nothing is written through it
	}
	return fault.Errorf(fault.Unsupported, "'%s' is no file, directory or symbolic link", h.Name)
}

// makeRoom removes what an entry replaces. It reports whether that stays.
func (u *unpacker) makeRoom(path string) (stays bool, err error) {
	_, err = u.root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case u.options.KeepExisting:
		return true, nil
	}
	return false, u.root.Remove(path)
}

func (u *unpacker) file(path string, mode fs.FileMode, content io.Reader) error {
	out, err := u.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err == nil {
		err = out.Chmod(mode) // whatever the umask is
	}
	return errors.Join(err, out.Close())
}
