package pty

import (
	"os"
	"strings"
	"time"
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
	for entry := range strings.SplitSeq(string(Environ(pid)), "\x00") {
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

// Flags of a process in its stat file: it exits, it is a thread of the kernel.
const (
	flagExiting = 0x4
	flagKernel  = 0x200000
)

// executeLimit bounds the wait for a process that executes another program.
// Only one that is stuck in the kernel takes longer.
const executeLimit = time.Second

// Environ returns the environment that a process was started with, as the
// kernel shows it: empty if there is none or it may not be read. A process
// that executes another program has none for a moment; Environ waits for that
// moment to pass, because whoever looks for marks would miss the process.
func Environ(pid int) []byte {
	path := procPath(pid, "environ")
	var end time.Time
	for settled := false; ; {
		environ, err := os.ReadFile(path)
		if err != nil || len(environ) > 0 || settled {
			return environ
		}
		switch {
		case !executing(pid):
			settled = true // since the read, maybe: read again
		case end.IsZero():
			end = time.Now().Add(executeLimit)
		case time.Now().After(end):
			return nil
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// executing reports whether a process lives and has no arguments.
func executing(pid int) bool {
	ps, ok := readStat(pid)
	if !ok || !ps.alive() || ps.flags&(flagExiting|flagKernel) != 0 {
		return false
	}
	var first [1]byte
	arguments, err := readInto(first[:], procPath(pid, "cmdline"))
	return err == nil && len(arguments) == 0
}
