package pty

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// chunkReader keeps what one Take needs, so that reading allocates nothing.
type chunkReader struct {
	gate *gate
	buf  []byte
	n    int
	err  error
	// taken counts the chunks that may have left the kernel and are not
	// handled yet. It is raised before the read, so that no byte is ever
	// neither here nor there.
	taken atomic.Int32
}

// read fills buf as far as it goes without waiting. It returns false when
// there was not one byte, which makes the gate wait and call again.
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

// Take waits for the first byte and then reads on, without waiting, until buf
// is full or nothing is there: the kernel hands out at most 4 KiB of a
// terminal's output at a time. A hung-up terminal is io.EOF, after everything
// that was written to it. One goroutine may read at a time. What was taken
// counts for Probe as output on its way until Handled is called for it.
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

// Handled tells that all of one Take's bytes have had their effect.
func (p *PTY) Handled() { p.chunk.taken.Add(-1) }

// chunkWriter keeps what one Write needs.
type chunkWriter struct {
	gate *gate

	mu  sync.Mutex // guards the fields below; writers take turns
	buf []byte
	n   int
	err error
}

// write writes buf as far as it goes without waiting.
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

// Write types data at the terminal. It waits while the terminal's input queue
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
