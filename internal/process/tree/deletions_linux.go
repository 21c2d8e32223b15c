package tree

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of the kernel's notifications about a directory: that a file in it was deleted
// or renamed, and not only the first time.
const (
	dnDelete    = 0x8
	dnMultishot = -1 << 31
)

// Deletions tells that an open file may have been deleted, until end is called:
// it, or a file beside it, was deleted or renamed. It costs nothing meanwhile. It
// is for one file of a process that uses SIGIO for nothing else. Where the kernel
// does not tell, the channel stays silent.
//
// It is not inotify: of that a user has 128 instances, and there may be more
// sessions, and other programs that need some.
func Deletions(of *os.File) (deleted <-chan os.Signal, end func()) {
	heard := make(chan os.Signal, 1)                                   // full: it tells the same
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", of.Fd())) // where it is now: it may have been moved
	if err != nil {
		return heard, func() {}
	}
	f, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return heard, func() {}
	}
	signal.Notify(heard, unix.SIGIO)
	// Best effort: who asks looks for itself now and then, too.
	_, _ = unix.FcntlInt(f.Fd(), unix.F_NOTIFY, dnDelete|dnMultishot)
	return heard, func() {
		signal.Stop(heard)
		f.Close() // Best effort: it ends the notifications.
	}
}

// childless reports whether this process has no child, dead or alive.
func childless() bool {
	var info unix.Siginfo
	return unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// BecomeSubreaper makes orphans below this process its children.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// The flags of a process in its stat file: that it exits, and that it is a
// thread of the kernel.
const (
	flagExiting = 0x4
	flagKernel  = 0x200000
)

// inTransition lists the processes of this user that exit or execute another
// program just now.
func inTransition() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // who cannot look cannot wait
	}
	defer dir.Close() // Best effort: it was only read.
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	uid := uint32(os.Geteuid())
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		var st syscall.Stat_t
		if syscall.Stat("/proc/"+name, &st) != nil || st.Uid != uid && st.Uid != 0 {
			continue // gone, or somebody else's; without memory it may be shown as root's
		}
		if isInTransition(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isInTransition reports whether a process exits, and may still hold files, or
// has no arguments, as while it executes another program.
func isInTransition(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return false // it is gone
	}
	lives, exits := parseLife(string(stat))
	if !lives || exits {
		return lives
	}
	arguments, err := os.ReadFile(dir + "/cmdline")
	return err == nil && len(arguments) == 0
}

// parseLife reads "PID (COMM) STATE PPID PGRP SESSION TTY TPGID FLAGS ...". The
// command name may hold anything, so the fields are counted from its end. What
// has kept nothing but its status, and the kernel's own threads, do not live.
func parseLife(stat string) (lives, exits bool) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 7 || f[0] == "Z" || f[0] == "X" {
		return false, false
	}
	flags, err := strconv.ParseUint(f[6], 10, 64)
	if err != nil || flags&flagKernel != 0 {
		return false, false
	}
	return true, flags&flagExiting != 0
}
