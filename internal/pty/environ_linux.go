package pty

import (
	"os"
	"strings"
)

// HasEnv reports whether a process was started with the variable key. It
// returns false if the environment cannot be read.
func HasEnv(pid int, key string) bool {
	_, ok := Env(pid, key)
	return ok
}

// Env returns the variable's value in the environment that a process was
// started with.
func Env(pid int, key string) (value string, ok bool) {
	for entry := range strings.SplitSeq(procFile(pid, "environ"), "\x00") {
		if value, ok := strings.CutPrefix(entry, key+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Arguments returns the argv of a process.
func Arguments(pid int) []string { return strings.Split(procFile(pid, "cmdline"), "\x00") }

// procFile returns the content of a file in /proc/PID, or "" if it cannot be
// read.
func procFile(pid int, file string) string {
	raw, err := os.ReadFile(procPath(pid, file))
	if err != nil {
		return ""
	}
	return string(raw)
}
