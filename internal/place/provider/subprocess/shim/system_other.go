//go:build !linux

package shim

import "syscall"

// childAttr makes the command lead a session.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
