package pty

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// caught receives the signals that this process was started to ignore. It is
// never read: a signal that nobody receives is dropped.
var caught = make(chan os.Signal, 1)

// catchIgnored makes every ignored signal caught and dropped instead. This
// matters for children: exec resets a caught signal to its default but keeps
// an ignored one, and a host started with "&" or nohup would run shells that
// ignore Ctrl-C.
func catchIgnored() {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return // Best effort: without /proc there is nothing to go by.
	}
	mask := ignoredMask(status)
	for sig := syscall.Signal(1); sig < 32; sig++ {
		if mask&(1<<(sig-1)) != 0 {
			signal.Notify(caught, sig)
		}
	}
}

// ignoredMask returns the SigIgn mask of a status file, bit 0 for signal 1.
func ignoredMask(status []byte) uint64 {
	_, rest, ok := bytes.Cut(status, []byte("\nSigIgn:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return mask
}
