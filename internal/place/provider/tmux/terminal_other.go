//go:build !linux

package tmux

import (
	"os"
	"syscall"

	"den/internal/base/fault"
)

const openNoControl = syscall.O_NOCTTY | syscall.O_NONBLOCK

func queued(*os.File) (int, error) {
	return 0, fault.Errorf(fault.Unsupported, "this system does not tell what input waits")
}

func lineModes(*os.File) (echo, lineMode bool, err error) {
	return false, false, fault.Errorf(fault.Unsupported, "this system does not tell a terminal's modes")
}
