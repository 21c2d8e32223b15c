package keeper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"den/internal/base/fault"
)

// checkOwn refuses a state directory that somebody else prepared: one with a
// link in it, through which den would write elsewhere, or with another user's
// files. A missing one is fine.
func (s StateDir) checkOwn() error {
	for _, dir := range []string{filepath.Join(filepath.Dir(s.Config), ".den"), s.Path} {
		if err := checkEntry(dir, fs.ModeDir); err != nil {
			return err
		}
	}
	return checkBelow(s.Path)
}

// checkBelow checks what is in the directory.
func checkBelow(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile, or there is no state directory
		case err != nil:
			return fault.Errorf(fault.KindOf(err), "check the keeper's directory: %w", err)
		case path == dir:
			return nil
		}
		return checkEntry(path, e.Type())
	})
}

// checkEntry refuses a file that is a link, is not of the type wanted, or
// belongs to another user.
func checkEntry(path string, want fs.FileMode) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "check the keeper's directory: %w", err)
	}
	hint := "remove it if you do not know it: 'den up' makes what it needs"
	switch st, ok := fi.Sys().(*syscall.Stat_t); {
	case fi.Mode().Type() == fs.ModeSymlink:
		return fault.Hintf(fault.Errorf(fault.Denied, "%s is a symbolic link", path), "%s", hint)
	case fi.Mode().Type() != want.Type():
		return fault.Hintf(fault.Errorf(fault.Denied, "%s is a %s", path, fi.Mode().Type()), "%s", hint)
	case ok && int(st.Uid) != os.Geteuid():
		return fault.Hintf(fault.Errorf(fault.Denied, "%s belongs to user %d", path, st.Uid), "%s", hint)
	}
	return nil
}

// maxStateFile bounds the files that are read whole from a state directory.
const maxStateFile = 1 << 20

// readOwn reads a small file of this user. It follows no link and never blocks.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fault.Errorf(fault.Denied, "%s is a symbolic link", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was only read.
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch me := os.Geteuid(); {
	case !fi.Mode().IsRegular() || fi.Size() > maxStateFile:
		return nil, fault.Errorf(fault.Storage, "%s is not a file of at most %d bytes", path, maxStateFile)
	case ok && int(st.Uid) != me && st.Uid != 0:
		return nil, fault.Errorf(fault.Denied, "%s belongs to user %d", path, st.Uid)
	}
	raw := make([]byte, fi.Size())
	n, err := f.ReadAt(raw, 0)
	if n < len(raw) {
		return nil, fault.Errorf(fault.Storage, "read %s: %w", path, err)
	}
	return raw, nil
}
