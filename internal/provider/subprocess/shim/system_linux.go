package shim

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr makes the command lead a session, and die with the shim.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// becomeSubreaper makes orphans of the session the shim's children.
func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}
