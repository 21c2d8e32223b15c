//go:build !linux

package shim

import (
	"den/internal/base/fault"
	"os"
	"syscall"
)

// childAttr makes the command lead a session.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func pipeQueued(*os.File) (int, error) {
	return 0, fault.Errorf(fault.Unsupported, "this system does not tell what waits in a pipe")
}
