//go:build !linux

package pty

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gate waits until the master can be read, or written: by Go's poller.
type gate struct {
	master  syscall.RawConn
	writing bool
	step    func(fd uintptr) bool
	file    *os.File
}

func openGates(int) (read, write *gate, err error) {
	return &gate{}, &gate{writing: true}, nil
}

// serve sets what to try at the gate, and on which descriptor.
func (g *gate) serve(master *os.File, raw syscall.RawConn, step func(fd uintptr) bool) {
	g.file, g.master, g.step = master, raw, step
}

// pass tries until the step says that it is done.
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

// openFile makes the master's file, in Go's poller.
func openFile(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
