package home

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// HeldBy reports whether a process has the lock of this very directory open, as
// its host does: the file itself, not one with its name. Ids and process numbers
// are in the record, which anybody can copy. Only Linux tells; elsewhere it is
// false.
func (d Dir) HeldBy(pid int) bool {
	lock, err := os.Lstat(d.lock())
	if err != nil {
		return false
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(fds, func(path string) bool {
		fi, err := os.Stat(path)
		return err == nil && os.SameFile(lock, fi)
	})
}
