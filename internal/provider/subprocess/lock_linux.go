package subprocess

import (
	"os"

	"golang.org/x/sys/unix"
)

// An open-file-description lock belongs to the open file, not to a process,
// and can be looked at without being taken.

func lockNow(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

func lockedByOther(f *os.File) (bool, error) {
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &whole); err != nil {
		return false, err
	}
	return whole.Type != unix.F_UNLCK, nil
}
