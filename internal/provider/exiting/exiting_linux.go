package exiting

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

// leaving lists the processes of this user that are on their way out.
func leaving() []int {
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
		if err != nil || !leaves(pid) {
			continue
		}
		var st syscall.Stat_t
		if syscall.Stat("/proc/"+name, &st) == nil && (st.Uid == uid || st.Uid == 0) { // without memory it may be shown as root's
			pids = append(pids, pid)
		}
	}
	return pids
}

// leaves reports whether a process is on its way out, with files that it may
// still hold.
func leaves(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && leavesBy(string(stat))
}

// leavesBy reads "PID (COMM) STATE PPID PGRP SESSION TTY TPGID FLAGS ...". The
// command name may hold anything, so the fields are counted from its end.
func leavesBy(stat string) bool {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 7 || f[0] == "Z" || f[0] == "X" {
		return false // only its status is kept
	}
	flags, err := strconv.ParseUint(f[6], 10, 64)
	return err == nil && flags&flagExiting != 0 && flags&flagKernel == 0
}
