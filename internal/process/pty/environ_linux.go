package pty

import (
	"bytes"
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
// that executes another program seems to have none for a moment; Environ waits
// for that moment to pass, because whoever looks for marks would miss the
// process.
func Environ(pid int) []byte {
	for end := (time.Time{}); ; time.Sleep(100 * time.Microsecond) {
		environ, err := os.ReadFile(procPath(pid, "environ"))
		if err != nil || len(environ) > 0 || !runsProgram(pid) || hasNoEnviron(pid) {
			return environ
		}
		if end.IsZero() {
			end = time.Now().Add(executeLimit)
		} else if time.Now().After(end) {
			return nil
		}
	}
}

// runsProgram reports whether a process lives and is none of the kernel's own.
func runsProgram(pid int) bool {
	ps, ok := readStat(pid)
	return ok && ps.alive() && ps.flags&(flagExiting|flagKernel) == 0
}

// hasNoEnviron reports whether the program that a process executes was given
// no environment: it ends where it begins. While a program is being loaded that
// is so for a moment with any; the place of its code is the last that the
// kernel fills in.
func hasNoEnviron(pid int) bool {
	var buf [1024]byte
	data, err := readInto(buf[:], procPath(pid, "stat"))
	if err != nil {
		return false
	}
	f := fields{rest: data[bytes.LastIndexByte(data, ')')+1:]}
	var code, start, end []byte
	for i := 3; i <= 51; i++ { // Numbered as in proc(5).
		word := f.next()
		switch i {
		case 26:
			code = word
		case 50:
			start = word
		case 51:
			end = word
		}
	}
	return len(code) > 1 && bytes.Equal(start, end)
}
