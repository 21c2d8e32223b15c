// Package filelock locks files between processes and tells whether a file is
// locked.
//
// A lock belongs to the open file, not to the process: it is held for as long
// as the returned file, or a descriptor inherited from it, is open. So a parent
// can take a lock and hand it to a child without a moment in which nobody
// holds it, and it keeps goroutines of one process apart too. The kernel
// releases it when the last holder ends, however it ends. Lock files are never
// removed by this package.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld means that somebody else holds the lock.
var ErrHeld = errors.New("the lock is held")

// The pauses between two attempts to take a lock within a context. The kernel's
// own wait cannot be cancelled.
const (
	firstPause = 500 * time.Microsecond
	maxPause   = 10 * time.Millisecond
	// Between two probes of a lock whose holder cannot be watched.
	maxProbePause = 100 * time.Millisecond
)

// region is the part of a file that a lock covers.
type region struct {
	start, length int64 // a length of 0 reaches to the end
}

var whole = region{}

// Try locks the whole file, which is created if it is missing. It returns
// ErrHeld at once where somebody holds it.
func Try(path string) (*os.File, error) {
	// Probed first: closing a file that was opened for writing tells those who
	// watch the directory that a holder let go.
	if held, err := Held(path); err != nil {
		return nil, err
	} else if held {
		return nil, fmt.Errorf("lock %s: %w", path, ErrHeld)
	}
	return open(path, func(f *os.File) error { return try(f, whole) })
}

// Wait locks the whole file, which is created if it is missing. It waits until
// nobody else holds it, or until the context ends.
func Wait(ctx context.Context, path string) (*os.File, error) {
	return open(path, func(f *os.File) error { return wait(ctx, f, whole) })
}

// WaitAt is Wait for single bytes of a file, which need not exist in it: one file
// holds as many locks as it has offsets. Several are taken in ascending order, so
// no two callers wait for each other. On systems other than Linux it locks the
// whole file, so holders of different offsets do wait for each other.
func WaitAt(ctx context.Context, path string, offsets ...int64) (*os.File, error) {
	return open(path, func(f *os.File) error {
		for _, offset := range slices.Sorted(slices.Values(offsets)) {
			if err := wait(ctx, f, region{start: offset, length: 1}); err != nil {
				return err
			}
		}
		return nil
	})
}

func wait(ctx context.Context, f *os.File, part region) error {
	if ctx.Done() == nil {
		return uninterrupted(func() error { return setLock(f, part, exclusive, blocking) })
	}
	return poll(ctx, maxPause, func() error { return try(f, part) })
}

// open opens a lock file and closes it again if it cannot be locked.
func open(path string, lock func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err // it names the file
	}
	if err := lock(f); err != nil {
		f.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

func try(f *os.File, part region) error {
	err := uninterrupted(func() error { return setLock(f, part, exclusive, atOnce) })
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrHeld
	}
	return err
}

// poll calls take until it returns something else than ErrHeld, with pauses that
// grow to longest.
func poll(ctx context.Context, longest time.Duration, take func() error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := firstPause; ; pause = min(2*pause, longest) {
		if err := take(); !errors.Is(err, ErrHeld) {
			return err
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// openToProbe opens a lock file for reading. A pipe in its place does not block.
func openToProbe(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Held reports whether somebody holds a lock on any part of the file. Read
// access is enough. A missing file is not held.
func Held(path string) (bool, error) {
	f, err := openToProbe(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // Best effort: it was only read.
	return HeldFile(f)
}

// HeldFile is Held for an open file, which holds no lock itself.
func HeldFile(f *os.File) (held bool, err error) {
	err = uninterrupted(func() error {
		held, err = lockedByOther(f)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("probe lock %s: %w", f.Name(), err)
	}
	return held, nil
}

// Release lets go of the lock and closes its file. Closing alone is for locks
// that are handed to a child: a process that is just being started has this
// process's descriptors until it is another program, and would keep the lock
// for that moment.
func Release(f *os.File) error {
	err := uninterrupted(func() error { return setLock(f, whole, none, atOnce) })
	return errors.Join(err, f.Close())
}

// Deleted reports whether the file of a held lock was deleted. One that was
// moved is not.
func Deleted(lock *os.File) bool {
	fi, err := lock.Stat()
	if err != nil {
		return false // could not ask
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// OpenIn reports whether a process has the file open, as who holds its lock does.
func OpenIn(pid int, path string) bool {
	file, err := os.Lstat(path)
	if err != nil {
		return false
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(fds, func(fd string) bool {
		fi, err := os.Stat(fd)
		return err == nil && os.SameFile(file, fi)
	})
}

// Released returns a channel that is closed once nobody holds the lock. Its
// goroutine ends then, or with the context, and never occupies a thread. Where
// holder is a process that has the lock's file open, its end is waited for; after
// that, and where it is not, the lock is probed again and again.
func Released(ctx context.Context, path string, holder int) (<-chan struct{}, error) {
	f, err := openToProbe(path)
	if err != nil {
		return nil, err
	}
	released := make(chan struct{})
	go func() {
		defer f.Close() // Best effort: it was only read.
		if held, err := HeldFile(f); err == nil && held {
			awaitEnd(ctx, holder, path)
		}
		err := poll(ctx, maxProbePause, func() error {
			if held, err := HeldFile(f); err != nil || !held {
				return err
			}
			return ErrHeld
		})
		// Best effort: where the lock cannot be probed, who hears of the release does so again.
		if ctx.Err() == nil || err == nil {
			close(released)
		}
	}()
	return released, nil
}

// uninterrupted repeats a system call that a signal interrupted.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

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
	if err := poll(ctx, maxPause, func() error { return flock(f, unix.LOCK_EX) }); err != nil {
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
