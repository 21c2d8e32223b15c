package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
)

// frames sends and receives messages on a connection: one JSON value a line.
type frames struct {
	raw net.Conn
	in  *bufio.Reader
	max int // of a received line, in bytes

	budget     *budget       // charged for long lines; or nil
	lineLimit  time.Duration // for the rest of a line that has begun; 0: none
	writeLimit time.Duration // for a message that the other side does not read; 0: none

	writing sync.Mutex // one message at a time; guards the field below
	broken  error      // a message may have been sent in part: nothing may follow it
}

// shortLine is the size of the reader's buffer. Lines that fit are free of
// charge.
const shortLine = 4096

func newFrames(raw net.Conn, max int) *frames {
	return &frames{raw: raw, in: bufio.NewReaderSize(raw, shortLine), max: max}
}

// write sends one message. It may be called from several goroutines.
func (f *frames) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return &encodeError{err}
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if f.writeLimit > 0 {
		if err := f.raw.SetWriteDeadline(time.Now().Add(f.writeLimit)); err != nil {
			return err
		}
	}
	_, f.broken = f.raw.Write(append(line, '\n'))
	return f.broken
}

// encodeError is a message that is no JSON. Nothing of it was sent.
type encodeError struct{ err error }

func (e *encodeError) Error() string { return fmt.Sprintf("encode message: %v", e.err) }
func (e *encodeError) Unwrap() error { return e.err }

// read receives one message into v and returns what the budget was charged for
// it, which the caller gives back. io.EOF means that the other end closed
// between messages.
func (f *frames) read(v any) (charge int64, err error) {
	line, charge, err := f.readLine()
	if err != nil {
		return charge, err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return charge, fault.Errorf(fault.Protocol, "message is not understood: %w", err)
	}
	return charge, nil
}

func (f *frames) readLine() (line []byte, charge int64, err error) {
	done, err := f.limitLine()
	if err != nil {
		return nil, 0, err
	}
	defer done()
	for {
		part, err := f.in.ReadSlice('\n')
		if err == nil && line == nil {
			return part, 0, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(line)+len(part) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, charge, err
		}
		if len(line)+len(part) > f.max {
			return nil, charge, fault.Errorf(fault.Protocol, "message is longer than %d bytes", f.max)
		}
		if !f.budget.take(int64(len(part))) {
			return nil, charge, fault.Hintf(fault.Errorf(fault.Busy, "too many long messages at once"), "try again in a moment")
		}
		charge += int64(len(part))
		line = append(line, part...)
		if err == nil {
			return line, charge, nil
		}
	}
}

// limitLine waits for the first byte of a line, for as long as it takes, and
// limits the time for the rest. Done takes that limit back.
func (f *frames) limitLine() (done func(), err error) {
	none := func() {}
	if f.lineLimit == 0 {
		return none, nil
	}
	if _, err := f.in.Peek(1); err != nil {
		return nil, err
	}
	if here, _ := f.in.Peek(f.in.Buffered()); bytes.IndexByte(here, '\n') >= 0 {
		return none, nil
	}
	if err := f.raw.SetReadDeadline(time.Now().Add(f.lineLimit)); err != nil {
		return nil, err
	}
	return func() {
		f.raw.SetReadDeadline(time.Time{}) // Best effort: a broken connection shows in the next read.
	}, nil
}

// budget bounds the bytes that all clients of a server together make it keep.
type budget struct {
	mu   sync.Mutex // guards left
	left int64
}

func newBudget(n int64) *budget { return &budget{left: n} }

// take reports whether n bytes are left, and takes them then.
func (b *budget) take(n int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

// give gives back what was taken.
func (b *budget) give(n int64) {
	if b == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}
