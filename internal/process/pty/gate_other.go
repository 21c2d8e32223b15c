//go:build !linux

package pty

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
