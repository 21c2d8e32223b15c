package irc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrLineTooLong is of a line above the limit of a LineReader. The line is
// skipped.
var ErrLineTooLong = errors.New("line too long")

// A LineReader reads lines of bounded length. A read that fails with a timeout
// loses nothing: the next one goes on.
type LineReader struct {
	from       io.Reader
	limit      int
	buf        []byte // grows for a peer that sends much at once, and shrinks again
	start, end int    // the bytes read and not yet returned
	skipping   bool   // the rest of a line that was too long
}

const (
	firstBuffer = 1 << 10  // and the smallest
	largeBuffer = 16 << 10 // the largest, unless a line can be longer
)

// NewLineReader returns a reader of lines of at most limit bytes, with their
// ends.
func NewLineReader(from io.Reader, limit int) *LineReader {
	return &LineReader{from: from, limit: limit, buf: make([]byte, firstBuffer)}
}

// Buffered reports whether Next has a line without reading.
func (r *LineReader) Buffered() bool { return bytes.IndexByte(r.buf[r.start:r.end], '\n') >= 0 }

// Next returns a line without its end. It is valid until the next call.
func (r *LineReader) Next() ([]byte, error) {
	for scanned := r.start; ; {
		if i := bytes.IndexByte(r.buf[scanned:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : scanned+i+1]
			r.start += len(line)
			if r.skipping || len(line) > r.limit {
				r.skipping = false
				return nil, ErrLineTooLong
			}
			return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
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

// makeRoom makes the buffer longer than what is in it, which is no whole line.
// It fits the buffer to the last read: one that filled it makes it larger, one
// that left most of it empty makes it smaller.
func (r *LineReader) makeRoom() {
	rest := r.buf[r.start:r.end]
	if r.skipping || len(rest) >= r.limit {
		rest, r.skipping = nil, true
	}
	size := len(r.buf)
	switch {
	case r.end == size:
		size = min(4*size, max(largeBuffer, r.limit))
	case r.end < size/4:
		size = max(size/4, firstBuffer)
	}
	into := r.buf
	if size != len(r.buf) {
		into = make([]byte, size)
	}
	r.start, r.end = 0, copy(into, rest)
	r.buf = into
}

// Room returns how many bytes of text fit in one PRIVMSG or NOTICE so that
// others receive it whole: they see it with the sender's source in front.
func Room(source, command, target string) int {
	return MaxBody - len(":") - len(source) - len(" ") - len(command) - len(" ") - len(target) - len(" :") - len(crlf)
}

// SplitText cuts text into lines of at most room bytes. A newline begins a new
// line; empty lines, which the protocol cannot express, are left out. NUL and
// CR are removed. A line that is too long is cut before a space if there is one
// in its second half, else between two characters. Nothing else is lost: the
// pieces of a line joined give the line. With less room than the longest
// character needs, a character may be cut.
func SplitText(text string, room int) []string {
	room = max(room, 1)
	var pieces []string
	text = removeForbidden.Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > room {
			cut := cutPoint(line, room)
			pieces, line = append(pieces, line[:cut]), line[cut:]
		}
		if line != "" {
			pieces = append(pieces, line)
		}
	}
	return pieces
}

// A lone CR ends a line for some receivers, so it is one here too.
var removeForbidden = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "")

// cutPoint returns where to cut a line that is longer than room.
func cutPoint(line string, room int) int {
	// The space begins the next line: some servers remove it from an end.
	if space := strings.LastIndexByte(line[:room+1], ' '); space > room/2 {
		return space
	}
	for cut := room; cut > 0 && cut > room-utf8.UTFMax; cut-- {
		if utf8.RuneStart(line[cut]) {
			return cut
		}
	}
	return room // not text: no character begins here
}
