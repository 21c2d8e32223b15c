package pty

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

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
