package pty

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gate waits until the master is readable or writable. The master itself is
// not in Go's poller, which would be notified of every arriving line and wake
// one more thread thousands of times a second in a flood of output. The gate
// is an epoll instance of its own in Go's poller, armed for one notification
// at a time.
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
	check   func(epfd uintptr) bool
	done    bool  // what tryOnce saw
	err     error // what arm met
	got     [1]unix.EpollEvent
}

// openGates returns the gates for reading and writing master.
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
	// No events: notifications are armed one at a time.
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

// serve sets the step to try, and its descriptor.
func (g *gate) serve(_ *os.File, master syscall.RawConn, step func(fd uintptr) bool) {
	g.master, g.step = master, step
	g.tryOnce = func(fd uintptr) { g.done = g.step(fd) }
	g.arm = func(fd uintptr) {
		g.got[0] = unix.EpollEvent{Events: g.want | unix.EPOLLONESHOT}
		g.err = unix.EpollCtl(g.epfd, unix.EPOLL_CTL_MOD, int(fd), &g.got[0])
	}
	g.check = func(epfd uintptr) bool {
		n, err := unix.EpollWait(int(epfd), g.got[:], 0)
		return n > 0 || err != nil && err != unix.EINTR
	}
}

// pass calls the step until it reports that it is done, and waits in between.
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
	return g.epoll.Read(g.check)
}

func (g *gate) setDeadline(t time.Time) error { return g.ep.SetReadDeadline(t) }

func (g *gate) close() error { return g.ep.Close() }

// openFile returns the master's file. Its descriptor is blocking, which keeps
// it out of Go's poller.
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
