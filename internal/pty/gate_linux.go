package pty

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gate waits until the master can be read, or written. The master itself is
// not in Go's poller: that reports every arrival of bytes, and in a flood
// they arrive for each line that the program writes, so one more thread would
// wake thousands of times a second to say what the reader knows. The gate is
// an epoll instance of its own, in Go's poller, that tells once and only when
// it was asked.
type gate struct {
	ep     *os.File
	epfd   int
	epoll  syscall.RawConn // ep's
	master syscall.RawConn
	want   uint32 // the epoll events to wait for

	// Made once, so that waiting allocates nothing.
	step    func(fd uintptr) bool // tries once; reports whether that was all
	tryOnce func(fd uintptr)
	arm     func(fd uintptr)
	look    func(epfd uintptr) bool
	done    bool  // what tryOnce saw
	err     error // what arm met
	got     [1]unix.EpollEvent
}

// openGates makes the gates to read and to write at master.
func openGates(fd int) (read, write *gate, err error) {
	if read, err = openGate(fd, unix.EPOLLIN); err != nil {
		return nil, nil, err
	}
	if write, err = openGate(fd, unix.EPOLLOUT); err != nil {
		read.ep.Close()
		return nil, nil, err
	}
	return read, write, nil
}

func openGate(master int, want uint32) (*gate, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Without events: nothing is told before it is asked for.
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, master, &unix.EpollEvent{Events: unix.EPOLLONESHOT}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // this puts it into Go's poller
		unix.Close(fd)
		return nil, err
	}
	g := &gate{ep: os.NewFile(uintptr(fd), "epoll"), epfd: fd, want: want}
	if g.epoll, err = g.ep.SyscallConn(); err != nil {
		g.ep.Close()
		return nil, err
	}
	return g, nil
}

// serve sets what to try at the gate, and on which descriptor.
func (g *gate) serve(_ *os.File, master syscall.RawConn, step func(fd uintptr) bool) {
	g.master, g.step = master, step
	g.tryOnce = func(fd uintptr) { g.done = g.step(fd) }
	g.arm = func(fd uintptr) {
		g.got[0] = unix.EpollEvent{Events: g.want | unix.EPOLLONESHOT}
		g.err = unix.EpollCtl(g.epfd, unix.EPOLL_CTL_MOD, int(fd), &g.got[0])
	}
	g.look = func(epfd uintptr) bool {
		n, err := unix.EpollWait(int(epfd), g.got[:], 0)
		return n > 0 || err != nil && err != unix.EINTR
	}
}

// pass tries until the step says that it is done.
func (g *gate) pass() error {
	for {
		if err := g.master.Control(g.tryOnce); err != nil {
			return err
		}
		if g.done {
			return nil
		}
		if err := g.await(); err != nil {
			return err
		}
	}
}

func (g *gate) await() error {
	if err := g.master.Control(g.arm); err != nil {
		return err
	}
	if g.err != nil {
		return fmt.Errorf("wait for the terminal: %w", g.err)
	}
	return g.epoll.Read(g.look)
}

func (g *gate) setDeadline(t time.Time) error { return g.ep.SetReadDeadline(t) }

func (g *gate) close() error { return g.ep.Close() }

// openFile makes the master's file. It is made of a blocking descriptor, which
// keeps it out of Go's poller.
func openFile(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.SetNonblock(fd, true); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
