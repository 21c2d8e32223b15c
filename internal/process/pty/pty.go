// Package pty opens pseudo-terminals and asks the kernel what runs on them.
//
// A PTY is owned by one host. One goroutine may read, any may write; deadlines
// and Close unblock them. Echo, ForegroundGroup, Probe and Resize are safe for
// concurrent use; after Close they return os.ErrClosed.
package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	creack "github.com/creack/pty"
	"golang.org/x/sys/unix"

	"den/internal/base/fault"
)

// Size is a terminal's size in cells.
type Size struct {
	Cols, Rows    int
	Width, Height int // in pixels, for programs that draw images; 0 = not known
}

// maxSide is the largest value in the kernel's window size.
const maxSide = 1<<16 - 1

func (s Size) check() error {
	if s.Cols < 1 || s.Rows < 1 || s.Cols > maxSide || s.Rows > maxSide {
		return fault.Errorf(fault.Usage, "terminal size %dx%d: columns and rows must be between 1 and %d", s.Cols, s.Rows, maxSide)
	}
	return nil
}

// A PTY is the master's side of a pseudo-terminal.
type PTY struct {
	master *os.File
	raw    syscall.RawConn
	id     slaveID // set once; which device the programs see
	chunk  chunkReader
	writer chunkWriter
	closed atomic.Bool
	probe  probing

	mu    sync.Mutex // guards the fields below
	slave *os.File   // from Open until Start, else nil
	roots []int      // where Probe looks for processes
}

// Open makes a new pseudo-terminal. The caller must Close it.
func Open(size Size) (*PTY, error) {
	if err := size.check(); err != nil {
		return nil, err
	}
	m, slave, err := creack.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	p, err := FromFile(m)
	if err != nil {
		m.Close()
		slave.Close()
		return nil, err
	}
	p.slave = slave
	if err := p.prepare(size); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *PTY) prepare(size Size) error {
	if err := p.Resize(size); err != nil {
		return err
	}
	return p.control("set up the terminal", setUTF8)
}

// FromFile returns a PTY for a master that another process image opened, after
// an upgrade by exec. On success master is closed. Call SetRoot with the
// process that runs there.
func FromFile(master *os.File) (*PTY, error) {
	// A duplicate, because master's finalizer closes its own.
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("adopt terminal %s: %w", master.Name(), err)
	}
	if err := checkMaster(fd); err != nil {
		unix.Close(fd)
		return nil, fault.Errorf(fault.Usage, "adopt terminal %s: not the master of a pseudo-terminal: %w", master.Name(), err)
	}
	f, err := openFile(fd, "/dev/ptmx")
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("adopt terminal %s: %w", master.Name(), err)
	}
	p := &PTY{master: f}
	if err := p.openGates(fd); err != nil {
		f.Close()
		return nil, fmt.Errorf("adopt terminal %s: %w", master.Name(), err)
	}
	if err := p.control("name the terminal", func(fd int) (err error) {
		p.id, err = identify(fd)
		return err
	}); err != nil {
		p.Close()
		return nil, err
	}
	master.Close()
	return p, nil
}

func (p *PTY) openGates(fd int) (err error) {
	if p.raw, err = p.master.SyscallConn(); err != nil {
		return err
	}
	if p.chunk.gate, p.writer.gate, err = openGates(fd); err != nil {
		return err
	}
	p.chunk.gate.serve(p.master, p.raw, p.chunk.read)
	p.writer.gate.serve(p.master, p.raw, p.writer.write)
	return nil
}

// SyscallConn gives access to the master's descriptor, to pass it on.
func (p *PTY) SyscallConn() (syscall.RawConn, error) { return p.raw, nil }

// SetReadDeadline makes Take return os.ErrDeadlineExceeded at t. The zero time
// means never.
func (p *PTY) SetReadDeadline(t time.Time) error { return p.chunk.gate.setDeadline(t) }

// SetDeadline sets the deadline of Take and Write.
func (p *PTY) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.writer.gate.setDeadline(t))
}

// Name returns the path of the terminal device, such as "/dev/pts/3".
func (p *PTY) Name() string { return p.id.name }

// Resize sets the terminal's size. The foreground group gets SIGWINCH.
func (p *PTY) Resize(size Size) error {
	if err := size.check(); err != nil {
		return err
	}
	return p.control("resize the terminal", func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{
			Col: uint16(size.Cols), Row: uint16(size.Rows),
			Xpixel: uint16(min(size.Width, maxSide)), Ypixel: uint16(min(size.Height, maxSide)),
		})
	})
}

// Size asks the terminal for its size.
func (p *PTY) Size() (size Size, err error) {
	err = p.control("ask the terminal's size", func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			size = Size{Cols: int(ws.Col), Rows: int(ws.Row)}
		}
		return err
	})
	return size, err
}

// Echo returns whether the terminal echoes input, and whether it is in
// canonical (line) mode. Canonical mode without echo is typical of password
// prompts, neither of editors.
func (p *PTY) Echo() (echo, canonical bool, err error) {
	err = p.control("ask the terminal's modes", func(fd int) error {
		t, err := getTermios(fd)
		if err == nil {
			echo, canonical = t.Lflag&unix.ECHO != 0, t.Lflag&unix.ICANON != 0
		}
		return err
	})
	return echo, canonical, err
}

// Settings are a terminal's modes at one moment.
type Settings struct{ termios unix.Termios }

// What a terminal does for programs that read and write lines.
const (
	lineInput  = unix.ICRNL
	lineOutput = unix.OPOST | unix.ONLCR
	lineModes  = unix.ICANON | unix.ECHO | unix.ISIG
)

// Settings returns the terminal's modes.
func (p *PTY) Settings() (s Settings, err error) {
	err = p.control("ask the terminal's modes", func(fd int) error {
		t, err := getTermios(fd)
		if err == nil {
			s.termios = *t
		}
		return err
	})
	return s, err
}

// TranslatesNewlines reports whether a newline that is written goes to the begin
// of the next line.
func (s Settings) TranslatesNewlines() bool { return s.termios.Oflag&lineOutput == lineOutput }

// ForLines reports whether the terminal is as programs that read and write lines
// need it.
func (s Settings) ForLines() bool {
	return s.TranslatesNewlines() && s.termios.Iflag&lineInput == lineInput && s.termios.Lflag&lineModes == lineModes
}

// LeftRaw reports whether a program has left the terminal so that others cannot
// read and write lines there. A line editor that has begun to read looks different.
func (s Settings) LeftRaw() bool {
	return !s.TranslatesNewlines() || s.termios.Lflag&unix.ICANON != 0 && !s.ForLines()
}

// edited reports whether a line editor reads the terminal: those of bash, zsh and
// readline take the key that quotes the next one for themselves.
func (s Settings) edited() bool {
	quote := s.termios.Cc[unix.VLNEXT]
	return s.termios.Lflag&unix.ICANON == 0 && (quote == 0 || quote == 0xff)
}

// SameOutput reports whether two terminals treat output alike.
func (s Settings) SameOutput(as Settings) bool { return s.termios.Oflag == as.termios.Oflag }

// RestoreLines makes the terminal ready for lines again, if it is still as somebody
// left it: the very same, or without the translation of newlines. A line editor is
// not disturbed.
func (p *PTY) RestoreLines(left Settings) (now Settings, err error) {
	err = p.control("restore the terminal's modes", func(fd int) error {
		t, err := getTermios(fd)
		if err != nil {
			return err
		}
		now.termios = *t
		if now.edited() || now != left && (left.TranslatesNewlines() || now.TranslatesNewlines()) {
			return nil
		}
		t.Iflag |= lineInput
		t.Oflag |= lineOutput
		t.Lflag |= lineModes | unix.ECHOE | unix.IEXTEN
		now.termios = *t
		return setTermios(fd, t)
	})
	return now, err
}

// HideInput has a person's terminal show nothing of what is typed until restore
// is called.
func HideInput(fd int) (restore func() error, err error) {
	before, err := getTermios(fd)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	return func() error { return setTermios(fd, before) }, setTermios(fd, &hidden)
}

// ForegroundGroup returns the terminal's foreground process group, or 0 if
// there is none.
func (p *PTY) ForegroundGroup() (pgid int, err error) {
	err = p.control("ask for the foreground process group", func(fd int) (err error) {
		pgid, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return pgid, err
}

// Signal sends sig to the foreground process group, as the terminal's own
// Ctrl-C does, and returns the group.
func (p *PTY) Signal(sig syscall.Signal) (pgid int, err error) {
	pgid, err = p.ForegroundGroup()
	if err != nil {
		return 0, err
	}
	if pgid <= 0 {
		return 0, fault.Errorf(fault.NotRunning, "send %v: no process group is in the terminal's foreground", sig)
	}
	if err := unix.Kill(-pgid, sig); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return pgid, fault.Errorf(fault.NotRunning, "send %v: process group %d is gone", sig, pgid)
		}
		return pgid, fmt.Errorf("send %v to process group %d: %w", sig, pgid, err)
	}
	return pgid, nil
}

// SetRoot sets the processes below which Probe searches. Start sets the
// started process and this one, which suits a host that is a subreaper:
// orphans become its children.
func (p *PTY) SetRoot(pids ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roots = append([]int(nil), pids...)
}

// Close closes the master. The terminal hangs up, and the programs on it get
// SIGHUP.
func (p *PTY) Close() error {
	p.mu.Lock()
	if p.slave != nil {
		p.slave.Close()
		p.slave = nil
	}
	p.mu.Unlock()
	p.closed.Store(true)
	return errors.Join(p.chunk.gate.close(), p.writer.gate.close(), p.master.Close())
}

// control calls ask with the master's descriptor, which stays open until ask
// returns.
func (p *PTY) control(what string, ask func(fd int) error) error {
	var err error
	if cerr := p.raw.Control(func(fd uintptr) { err = ask(int(fd)) }); cerr != nil {
		err = cerr
	}
	if err != nil && p.closed.Load() {
		err = os.ErrClosed // Below it has several names.
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// chunkReader holds the state of one Take, so that reading allocates nothing.
type chunkReader struct {
	gate *gate
	buf  []byte
	n    int
	err  error
	// taken counts the chunks that were read from the kernel and not handled
	// yet. It is incremented before the read, so that Probe never misses a
	// byte.
	taken atomic.Int32
}

// read reads into buf without blocking. It returns false if there was nothing
// to read, so that the gate waits and calls it again.
func (c *chunkReader) read(fd uintptr) bool {
	c.taken.Add(1)
	done := c.fill(fd)
	if c.n == 0 {
		c.taken.Add(-1)
	}
	return done
}

func (c *chunkReader) fill(fd uintptr) bool {
	for c.n < len(c.buf) {
		n, err := unix.Read(int(fd), c.buf[c.n:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return c.n > 0
		case err == unix.EIO, err == nil && n <= 0:
			c.err = io.EOF
			return true
		case err != nil:
			c.err = os.NewSyscallError("read", err)
			return true
		}
		c.n += n
	}
	return true
}

// Take blocks until there is output, and then reads until buf is full or no
// more is available: one read returns at most 4 KiB of a terminal's output.
// After the terminal hung up, and all output was read, it returns io.EOF. Only
// one goroutine may read at a time. Probe counts the bytes as pending output
// until Handled is called.
func (p *PTY) Take(buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	c := &p.chunk
	c.buf, c.n, c.err = buf, 0, nil
	err := c.gate.pass()
	c.buf = nil
	switch {
	case c.n > 0:
		return c.n, nil // An error that came after these bytes comes again.
	case err != nil:
		if p.closed.Load() {
			err = os.ErrClosed // Below it has several names.
		}
		return 0, err
	}
	return 0, c.err
}

// Handled reports that the bytes of one Take have been processed.
func (p *PTY) Handled() { p.chunk.taken.Add(-1) }

// chunkWriter holds the state of one Write.
type chunkWriter struct {
	gate *gate

	mu  sync.Mutex // guards the fields below; writers take turns
	buf []byte
	n   int
	err error
}

// write writes from buf without blocking.
func (c *chunkWriter) write(fd uintptr) bool {
	for c.n < len(c.buf) {
		n, err := unix.Write(int(fd), c.buf[c.n:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return false
		case err != nil:
			c.err = os.NewSyscallError("write", err)
			return true
		}
		c.n += n
	}
	return true
}

// Write types data at the terminal. It blocks while the terminal's input queue
// is full.
func (p *PTY) Write(data []byte) (int, error) {
	c := &p.writer
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf, c.n, c.err = data, 0, nil
	err := c.gate.pass()
	c.buf = nil
	switch {
	case err != nil && p.closed.Load():
		err = os.ErrClosed
	case err == nil:
		err = c.err
	}
	return c.n, err
}
