package native

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// reapFailed collects hosts that ended before they were ready. Their creator
// does not tell their numbers: they are the ended children of this process
// that have den's name and lead a session, which none but hosts do.
func reapFailed(binary string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for field := range strings.FieldsSeq(string(raw)) {
			pid, err := strconv.Atoi(field)
			if err == nil && isEndedHost(pid, binary) {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // Best effort: somebody else was faster.
			}
		}
	}
}

func isEndedHost(pid int, binary string) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// PID (COMM) STATE PPID PGRP SESSION ...; a command name may hold anything.
	stat := string(raw)
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return false
	}
	name := filepath.Base(binary)
	fields := strings.Fields(stat[end+1:])
	return stat[open+1:end] == name[:min(len(name), maxComm)] && len(fields) > 3 && fields[0] == "Z" && fields[3] == strconv.Itoa(pid)
}
