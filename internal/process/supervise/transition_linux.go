package supervise

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

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
