package pty

import (
	"os"
	"syscall"
)

// InCgroup makes a child start in the cgroup of an open directory, unless nil.
func InCgroup(attr *syscall.SysProcAttr, dir *os.File) {
	if dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
	}
}
