package filelock

import (
	"os"

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
