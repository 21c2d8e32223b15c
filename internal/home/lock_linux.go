package home

import (
	"os"

	"golang.org/x/sys/unix"
)

// An open-file-description lock belongs to the open file, not to a process:
// the creator of a session takes it and hands the descriptor to the host, so
// there is no moment without an owner; and it can be looked at without being
// taken, so a look never stands in a host's way.

func lockNow(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

func lockWait(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK})
}

func lockShared(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_RDLCK})
}

func lockedByOther(f *os.File) (bool, error) {
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &whole); err != nil {
		return false, err
	}
	return whole.Type != unix.F_UNLCK, nil
}
