//go:build !linux

package tmux

import (
	"errors"
	"os"
	"syscall"

	"den/internal/base/fault"
)

// Only Linux tells what a session's processes are. Elsewhere Stop hangs up on
// the command, and ProcessAlive cannot be answered.

func allProcesses() ([]process, error) { return nil, nil }

func (pr process) lives() bool { return processRuns(pr.pid) }

func processRuns(pid int) bool {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = handle.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

func startedWith(int, string) bool { return true }

const openNoControl = syscall.O_NOCTTY | syscall.O_NONBLOCK

func queued(*os.File) (int, error) {
	return 0, fault.Errorf(fault.Unsupported, "this system does not tell what input waits")
}

func lineModes(*os.File) (echo, lineMode bool, err error) {
	return false, false, fault.Errorf(fault.Unsupported, "this system does not tell a terminal's modes")
}

// childAttr makes a child that is not of our process group, so that a Ctrl-C
// for us is none for it.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
