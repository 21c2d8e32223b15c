package holder

import "syscall"

// childAttr makes the command lead a process group, and die with the holder.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
