//go:build !linux

package tmux

import "syscall"

// childAttr makes a child that is not of our process group, so that a Ctrl-C
// for us is none for it.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
