package shim

import (
	"fmt"
	"golang.org/x/sys/unix"
	"os"
	"syscall"
)

// childAttr makes the command lead a session, and die with the shim.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// pipeQueued counts the bytes in a pipe that nobody has read.
func pipeQueued(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); cerr != nil {
		return 0, cerr
	}
	if err != nil {
		return 0, fmt.Errorf("ask what the command has not read: %w", err)
	}
	return n, nil
}
