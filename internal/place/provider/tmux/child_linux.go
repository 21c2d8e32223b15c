package tmux

import "syscall"

// childAttr makes a child that is not of our process group, so that a Ctrl-C
// for us is none for it, and that goes when we are killed: a client whose
// reader is gone may never get to the end of its input.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
