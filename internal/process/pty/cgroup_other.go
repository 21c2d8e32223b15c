//go:build !linux

package pty

import (
	"os"
	"syscall"
)

// InCgroup needs Linux; elsewhere it does nothing.
func InCgroup(*syscall.SysProcAttr, *os.File) {}
