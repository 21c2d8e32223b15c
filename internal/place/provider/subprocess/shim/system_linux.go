package shim

import "syscall"

// childAttr makes the command lead a session, and die with the shim.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
