package ircd

import (
	"bytes"
	"errors"
	"io"

	"den/internal/irc"
)

// errLineTooLong is of a line above the limits. The line is skipped.
var errLineTooLong = errors.New("line too long")

// lineLimit bounds a line with its tags. More precise limits are checked when
// it is parsed.
const lineLimit = irc.MaxClientTags + irc.MaxBody

// A lineReader reads lines of bounded length. A read that fails with a timeout
// loses nothing: the next one goes on.
type lineReader struct {
	from       io.Reader
	buf        []byte // grows to lineLimit for a client that sends long lines
	start, end int    // the bytes read and not yet returned
	skipping   bool   // the rest of a line that was too long
}

const firstBuffer = 1 << 10

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: from, buf: make([]byte, firstBuffer)}
}

// next returns a line without its end. It is valid until the next call.
func (r *lineReader) next() ([]byte, error) {
	for scanned := r.start; ; {
		if i := bytes.IndexByte(r.buf[scanned:r.end], '\n'); i >= 0 {
			line := bytes.TrimSuffix(r.buf[r.start:scanned+i], []byte("\r"))
			r.start = scanned + i + 1
			if r.skipping {
				r.skipping = false
				return nil, errLineTooLong
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
func (r *lineReader) makeRoom() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	switch {
	case r.end < len(r.buf):
	case len(r.buf) >= lineLimit:
		r.end, r.skipping = 0, true
	default:
		r.buf = append(r.buf, make([]byte, min(len(r.buf), lineLimit-len(r.buf)))...)
	}
}
