package irc

import (
	"bytes"
	"errors"
	"io"
)

// ErrLineTooLong is of a line above the limit of a LineReader. The line is
// skipped.
var ErrLineTooLong = errors.New("line too long")

// A LineReader reads lines of bounded length. A read that fails with a timeout
// loses nothing: the next one goes on.
type LineReader struct {
	from       io.Reader
	limit      int
	buf        []byte // grows to limit for a peer that sends long lines
	start, end int    // the bytes read and not yet returned
	skipping   bool   // the rest of a line that was too long
}

const firstBuffer = 1 << 10

// NewLineReader returns a reader of lines of at most limit bytes.
func NewLineReader(from io.Reader, limit int) *LineReader {
	return &LineReader{from: from, limit: limit, buf: make([]byte, min(firstBuffer, limit))}
}

// Next returns a line without its end. It is valid until the next call.
func (r *LineReader) Next() ([]byte, error) {
	for scanned := r.start; ; {
		if i := bytes.IndexByte(r.buf[scanned:r.end], '\n'); i >= 0 {
			line := bytes.TrimSuffix(r.buf[r.start:scanned+i], []byte("\r"))
			r.start = scanned + i + 1
			if r.skipping {
				r.skipping = false
				return nil, ErrLineTooLong
			}
			return line, nil
		}
		if r.skipping {
			r.start = r.end
		}
		r.makeRoom()
		n, err := r.from.Read(r.buf[r.end:])
		scanned = r.end
		r.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// makeRoom makes the buffer longer than what is in it. A line that fills the
// largest buffer is skipped.
func (r *LineReader) makeRoom() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	switch {
	case r.end < len(r.buf):
	case len(r.buf) >= r.limit:
		r.end, r.skipping = 0, true
	default:
		r.buf = append(r.buf, make([]byte, min(len(r.buf), r.limit-len(r.buf)))...)
	}
}
