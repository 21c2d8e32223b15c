package idle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"den/internal/base/fault"
)

// borrow returns the holder's master of a terminal, as a file of our own.
func borrow(holder int, tty string) (*os.File, error) {
	index, err := strconv.Atoi(strings.TrimPrefix(tty, "/dev/pts/"))
	if err != nil {
		return nil, fault.Errorf(fault.Unsupported, "look at terminal %q: it is no pseudo-terminal", tty)
	}
	process, err := unix.PidfdOpen(holder, 0)
	if err != nil {
		return nil, refused(tty, err)
	}
	defer unix.Close(process)
	fd, err := masterOf(holder, index)
	if err != nil {
		return nil, refused(tty, err)
	}
	mine, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return nil, refused(tty, err)
	}
	// The number may have become another file's meanwhile.
	if got, err := unix.IoctlGetInt(mine, unix.TIOCGPTN); err != nil || got != index {
		unix.Close(mine)
		return nil, fault.Errorf(fault.NotRunning, "look at terminal %s: it was closed", tty)
	}
	return os.NewFile(uintptr(mine), "/dev/ptmx"), nil
}

// refused tells who may not look, or whose kernel cannot, from a holder that
// has gone.
func refused(tty string, err error) error {
	kind := fault.Unsupported
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EBADF) {
		kind = fault.NotRunning
	}
	return fault.Errorf(kind, "look at terminal %s: %w", tty, err)
}

// masterOf finds the descriptor by which a process holds a terminal's master.
func masterOf(holder, index int) (int, error) {
	proc := filepath.Join("/proc", strconv.Itoa(holder))
	entries, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return 0, err
	}
	want := fmt.Sprintf("tty-index:\t%d\n", index)
	for _, e := range entries {
		link, err := os.Readlink(filepath.Join(proc, "fd", e.Name()))
		if err != nil || filepath.Base(link) != "ptmx" {
			continue // closed meanwhile, or something else
		}
		info, err := os.ReadFile(filepath.Join(proc, "fdinfo", e.Name()))
		if err == nil && strings.Contains(string(info), want) {
			return strconv.Atoi(e.Name())
		}
	}
	return 0, os.ErrNotExist
}
