package filelock

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Open-file-description locks: they can be probed without being taken, so a
// probe never stands in anybody's way, and they cover parts of a file.

type kind int16

const (
	exclusive kind = unix.F_WRLCK
	shared    kind = unix.F_RDLCK
	none      kind = unix.F_UNLCK
)

type patience int

const (
	atOnce   patience = unix.F_OFD_SETLK
	blocking patience = unix.F_OFD_SETLKW
)

func setLock(f *os.File, part region, k kind, p patience) error {
	return unix.FcntlFlock(f.Fd(), int(p), &unix.Flock_t{Type: int16(k), Start: part.start, Len: part.length})
}

// lockedByOther asks whether a shared lock could be had: those who waited for
// the release have one for a moment, and are no holders.
func lockedByOther(f *os.File) (bool, error) {
	found := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &found); err != nil {
		return false, err
	}
	return found.Type != unix.F_UNLCK, nil
}

// awaitEnd returns when the process has ended, at the latest with the context,
// and at once if it cannot be watched or does not have the lock's file open.
func awaitEnd(ctx context.Context, pid int, path string) {
	if pid <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	process := os.NewFile(uintptr(fd), "pidfd")
	defer process.Close() // Best effort: it was only watched.
	if !OpenIn(pid, path) {
		return // asked with the descriptor at hand: the number may be another process's by now
	}
	raw, err := process.SyscallConn()
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { process.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	// Best effort: the caller probes the lock.
	_ = raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}
