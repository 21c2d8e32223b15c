package pty

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A read of fullRead bytes is the most that the kernel gives at once; after
// one the next read yields up to floodYields times before it waits.
const (
	fullRead    = 4095
	floodYields = 100
)

// chunkReader keeps what one ReadChunk needs, so that reading allocates nothing.
type chunkReader struct {
	raw  syscall.RawConn
	step func(fd uintptr) bool // made once
	buf  []byte
	n    int
	err  error
	full bool // the last chunk was as much as the kernel gives: more will come
}

func (c *chunkReader) init(raw syscall.RawConn) {
	c.raw = raw
	c.step = c.read
}

// read fills buf as far as it goes without waiting. It returns false when
// there was not one byte, which makes the poller wait and call again.
func (c *chunkReader) read(fd uintptr) bool {
	patience := 0
	if c.full {
		patience = floodYields
	}
	for c.n < len(c.buf) {
		n, err := unix.Read(int(fd), c.buf[c.n:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && c.n == 0 && patience > 0:
			// In a flood the next bytes are microseconds away: to let others
			// run for a moment is cheaper than to park and be woken.
			patience--
			yield()
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

// ReadChunk waits for the first byte and then reads on, without waiting,
// until buf is full or nothing is there: the kernel hands out at most 4 KiB
// of a terminal's output at a time. A hung-up terminal is io.EOF, after
// everything that was written to it. One goroutine may read at a time.
func (p *PTY) ReadChunk(buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	c := &p.chunk
	c.buf, c.n, c.err = buf, 0, nil
	err := c.raw.Read(c.step)
	c.buf, c.full = nil, c.n >= fullRead
	switch {
	case c.n > 0:
		return c.n, nil // An error that came after these bytes comes again.
	case err != nil:
		if p.closed.Load() {
			err = os.ErrClosed // The poller has an error of its own for it.
		}
		return 0, err
	}
	return 0, c.err
}
