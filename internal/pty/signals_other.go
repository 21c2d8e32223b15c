//go:build !linux

package pty

import (
	"os"
	"os/signal"
	"syscall"
)

var caught = make(chan os.Signal, 1)

// catchIgnored is the part of Linux's that needs no /proc: what Go itself knows to be ignored.
func catchIgnored() {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP} {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
}
