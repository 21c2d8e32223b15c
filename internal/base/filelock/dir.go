package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNoLocks means that a file system has no locks for directories.
var ErrNoLocks = errors.New("this file system has no locks for directories")

// WaitDir locks a directory itself. Nothing is written for it, and read access
// is enough. Like Wait, it waits until nobody else holds the lock, or until the
// context ends. Locks of files in the directory are apart from it.
func WaitDir(ctx context.Context, path string) (*os.File, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err // it names the directory
	}
	if err := poll(ctx, func() error { return flock(f, unix.LOCK_EX) }); err != nil {
		f.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// ReleaseDir is Release for the lock of a directory.
func ReleaseDir(f *os.File) error {
	err := uninterrupted(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) })
	return errors.Join(err, f.Close())
}

// HeldDir reports whether somebody holds the lock of a directory. It has a
// shared one for a moment, for which WaitDir waits. A missing directory is not
// held, nor is one without locks.
func HeldDir(path string) (bool, error) {
	f, err := openDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // Best effort: it was only looked at.
	switch err := flock(f, unix.LOCK_SH); {
	case err == nil || errors.Is(err, ErrNoLocks):
		return false, nil
	case errors.Is(err, ErrHeld):
		return true, nil
	default:
		return false, fmt.Errorf("probe lock %s: %w", path, err)
	}
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// flock is the only lock that a descriptor without write access can hold, and
// no directory can be opened for writing.
func flock(f *os.File, how int) error {
	err := uninterrupted(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrHeld
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF):
		return fmt.Errorf("%w: %w", ErrNoLocks, err) // NFS takes it for a lock that needs write access
	}
	return err
}
