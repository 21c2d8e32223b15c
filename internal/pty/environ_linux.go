package pty

import (
	"os"
	"strings"
)

// HasEnv reports whether a process was started with the variable key. One
// that cannot be asked has it not.
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

// Arguments returns the arguments that a process was started with, the name it
// was called by first.
func Arguments(pid int) []string { return strings.Split(procFile(pid, "cmdline"), "\x00") }

// procFile reads a file of /proc/PID. It is empty where a process cannot be
// asked.
func procFile(pid int, file string) string {
	raw, err := os.ReadFile(procPath(pid, file))
	if err != nil {
		return ""
	}
	return string(raw)
}
