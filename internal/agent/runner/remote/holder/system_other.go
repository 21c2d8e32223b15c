//go:build !linux

package holder

import "syscall"

// childAttr makes the command lead a process group.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
