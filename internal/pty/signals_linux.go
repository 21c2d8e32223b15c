package pty

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// caught swallows signals that this process was started to ignore. It is
// never read: a signal that nobody receives is dropped.
var caught = make(chan os.Signal, 1)

// catchIgnored turns every ignored signal into one that is caught and
// dropped. The difference shows only in children: exec resets a caught signal
// to its default but hands an ignored one on, and a host that somebody
// started with "&" or nohup would then run shells that no Ctrl-C can stop.
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

// ignoredMask is the SigIgn line of a status file, bit 0 for signal 1.
func ignoredMask(status []byte) uint64 {
	_, rest, ok := bytes.Cut(status, []byte("\nSigIgn:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return mask
}
