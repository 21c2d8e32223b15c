//go:build !linux

package pty

import (
	"den/internal/base/fault"
	"os"
	"os/signal"
	"syscall"
	"time"

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

func setTermios(fd int, t *unix.Termios) error { return unix.IoctlSetTermios(fd, unix.TIOCSETA, t) }

// setUTF8 does nothing here: the flag has no portable name and the master may
// refuse it until a program has the other side open.
func setUTF8(int) error { return nil }

// CloseOnExec relies on Go, which marks what it opens.
func CloseOnExec() error { return nil }

// RunsOn cannot be known here, and nobody asks: terminals do not tell what waits.
func RunsOn(int, *os.File) bool { return false }

// InputQueued cannot be asked here.
func (p *PTY) InputQueued() (n int, err error) {
	return 0, fault.Errorf(fault.Unsupported, "the terminal's input queue cannot be read on this system")
}

// catchIgnored does what Linux's does for the signals that Go knows to be
// ignored.
func catchIgnored() {
	caught := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP} {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
}

// InCgroup needs Linux; elsewhere it does nothing.
func InCgroup(*syscall.SysProcAttr, *os.File) {}

// Foreground needs Linux's /proc.
func (p *PTY) Foreground() (group int, programs []Program, err error) {
	return 0, nil, fault.Errorf(fault.Unsupported, "this system does not tell what runs in the terminal's foreground")
}

// HasEnv cannot be asked here.
func HasEnv(int, string) bool { return false }

// Env cannot be asked here.
func Env(int, string) (value string, ok bool) { return "", false }

// Arguments cannot be asked here.
func Arguments(int) []string { return nil }

// Environ cannot be asked here.
func Environ(int) []byte { return nil }

// Descendants needs Linux's /proc; elsewhere it finds none.
func Descendants(int) []int { return nil }

// Processes needs Linux's /proc; elsewhere it finds none.
func Processes(int) []Process { return nil }

// Lookup needs Linux's /proc; elsewhere it finds none.
func Lookup(int) (Process, bool) { return Process{}, false }

// Ticks needs Linux's /proc.
func Ticks() int { return 0 }

// Marked needs Linux's /proc; elsewhere it finds none.
func Marked(string) []int { return nil }

// CommandLine needs Linux's /proc; elsewhere it is empty.
func CommandLine(int) string { return "" }

// gate waits in Go's poller until the master is readable or writable.
type gate struct {
	master  syscall.RawConn
	writing bool
	step    func(fd uintptr) bool
	file    *os.File
}

func openGates(int) (read, write *gate, err error) {
	return &gate{}, &gate{writing: true}, nil
}

// serve sets the step to try, and its descriptor.
func (g *gate) serve(master *os.File, raw syscall.RawConn, step func(fd uintptr) bool) {
	g.file, g.master, g.step = master, raw, step
}

// pass calls the step until it reports that it is done, and waits in between.
func (g *gate) pass() error {
	if g.writing {
		return g.master.Write(g.step)
	}
	return g.master.Read(g.step)
}

func (g *gate) setDeadline(t time.Time) error {
	if g.writing {
		return g.file.SetWriteDeadline(t)
	}
	return g.file.SetReadDeadline(t)
}

func (g *gate) close() error { return nil } // the master's Close unblocks it

// openFile returns the master's file, registered with Go's poller.
func openFile(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
