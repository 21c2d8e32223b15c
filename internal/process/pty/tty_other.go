//go:build !linux

package pty

import (
	"os"

	"golang.org/x/sys/unix"
)

// slaveID identifies a terminal device. Only Linux needs more than its name.
type slaveID struct{ name string }

func checkMaster(fd int) error {
	_, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	return err
}

func identify(int) (slaveID, error) { return slaveID{}, nil }

func getTermios(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, unix.TIOCGETA) }

// setUTF8 does nothing here: the flag has no portable name and the master may
// refuse it until a program has the other side open.
func setUTF8(int) error { return nil }

// CloseOnExec relies on Go, which marks what it opens.
func CloseOnExec() error { return nil }

// RunsOn cannot be known here, and nobody asks: terminals do not tell what waits.
func RunsOn(int, *os.File) bool { return false }
