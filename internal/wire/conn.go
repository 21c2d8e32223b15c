package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"den/internal/fault"
)

// Conn frames messages on a socket: one JSON value a line.
type Conn struct {
	raw net.Conn
	in  *bufio.Reader
	max int // of a received line, in bytes

	writing sync.Mutex // one message at a time
}

// NewConn frames raw. A received line longer than max is refused.
func NewConn(raw net.Conn, max int) *Conn {
	return &Conn{raw: raw, in: bufio.NewReaderSize(raw, 4096), max: max}
}

// Close ends the connection. A blocked Read or Write returns.
func (c *Conn) Close() error { return c.raw.Close() }

// Raw returns the socket below, for deadlines.
func (c *Conn) Raw() net.Conn { return c.raw }

// Write sends one message. It may be called from several goroutines.
func (c *Conn) Write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.raw.Write(append(line, '\n'))
	return err
}

// Read receives one message into v. io.EOF means that the other end closed
// between messages.
func (c *Conn) Read(v any) error {
	line, err := c.readLine()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fault.Errorf(fault.Protocol, "message is not understood: %w", err)
	}
	return nil
}

func (c *Conn) readLine() ([]byte, error) {
	var long []byte // only for lines longer than the reader's buffer
	for {
		part, err := c.in.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return part, nil
		case err == nil:
			return append(long, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && len(long)+len(part) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(long)+len(part) > c.max {
			return nil, fault.Errorf(fault.Protocol, "message is longer than %d bytes", c.max)
		}
		long = append(long, part...)
	}
}

// Buffered reports whether bytes of another message have arrived already.
func (c *Conn) Buffered() bool { return c.in.Buffered() > 0 }
