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

func arguments(int) ([]string, error) {
	return nil, fault.Errorf(fault.Unsupported, "this system does not tell what processes run")
}
