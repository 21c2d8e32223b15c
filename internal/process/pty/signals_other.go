//go:build !linux

package pty

import (
	"os"
	"os/signal"
	"syscall"
)

var caught = make(chan os.Signal, 1)

// catchIgnored does what Linux's does for the signals that Go knows to be
// ignored.
func catchIgnored() {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP} {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
}
