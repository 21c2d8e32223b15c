package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

const (
	headerBuffer = 2 << 10
	readBuffer   = 64 << 10
	// followBuffer is what a reader keeps that has caught up with a writer of
	// little: many are followed at a time.
	followBuffer = 8 << 10
	maxHeader    = 1 << 20
	// maxLine is far above the longest repaint. It bounds the memory for a
	// file that is not a log.
	maxLine = 1 << 30
)

// cursor reads one segment, as far as it has been written.
type cursor struct {
	f    *os.File
	seg  Segment
	buf  []byte
	r, w int // buf[r:w] is read and not yet used
	news int // bytes read since the end was last reached
	line int // lines used so far
	seq  uint64
	us   int64
	head bool // the next event is the repaint
	dec  decoder
}

// openCursor opens a segment and reads its header. The error is
// io.ErrUnexpectedEOF if the header is incomplete.
func (l *Log) openCursor(e entry) (*cursor, error) {
	open := l.file
	if open == nil {
		open = func() (*os.File, error) { return atomicfile.Open(filepath.Join(l.dir, e.name)) }
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	c := &cursor{f: f, buf: make([]byte, headerBuffer)}
	if err := c.readHeader(e); err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

func (c *cursor) readHeader(e entry) error {
	fi, err := c.f.Stat()
	if err != nil {
		return err
	}
	c.seg = Segment{Name: e.name, Index: e.index, Size: fi.Size()}
	line, err := c.nextLine(maxHeader)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err == nil {
		err = decodeHeader(line, &c.seg)
	}
	if err != nil {
		if k := fault.KindOf(err); k == fault.Protocol {
			return &fault.Error{Kind: k, Hint: fault.HintOf(err), Err: fmt.Errorf("log segment %s: %w", e.name, err)}
		}
		return err
	}
	c.seq, c.us, c.head = c.seg.Seq, c.seg.Elapsed.Microseconds(), c.seg.Repaint
	return nil
}

func (c *cursor) close() { c.f.Close() }

func (c *cursor) time() time.Duration { return time.Duration(c.us) * time.Microsecond }

// size returns the resize event that a fresh terminal needs for this segment.
func (c *cursor) size() Event {
	h := c.seg.Header
	return Event{
		Seq: c.seg.Seq, Time: c.seg.Elapsed, Repaint: true,
		Code: Resize, Data: fmt.Appendf(nil, "%dx%d", h.Cols, h.Rows),
	}
}

// next decodes the next event. It returns io.EOF if there is no complete line;
// a later call tries again. A malformed line is a *Damage.
func (c *cursor) next(ev *Event) error {
	for {
		line, err := c.nextLine(maxLine)
		if err == io.EOF {
			c.caughtUp()
			return err
		}
		if err != nil {
			return c.damage(c.line+1, err)
		}
		if len(line) == 0 || line[0] == '#' || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var raw raw
		if err := c.dec.line(line, &raw); err != nil {
			return c.damage(c.line, err)
		}
		c.us += raw.us
		if c.us < 0 || c.us > maxElapsed {
			c.us -= raw.us
			return c.damage(c.line, errors.New("time out of range"))
		}
		repaint := c.head
		c.head = false
		if !repaint {
			c.seq++
		}
		*ev = Event{Seq: c.seq, Time: c.time(), Code: raw.code, Data: raw.data, Repaint: repaint}
		return nil
	}
}

func (c *cursor) damage(line int, err error) error {
	return &Damage{Segment: c.seg.Name, Line: line, Seq: c.seq + 1, Err: err}
}

// nextLine returns the next complete line without its newline.
func (c *cursor) nextLine(limit int) ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(c.buf[c.r+searched:c.w], '\n'); i >= 0 {
			line := c.buf[c.r : c.r+searched+i]
			c.r += len(line) + 1
			c.line++
			return line, nil
		}
		searched = c.w - c.r
		if searched > limit {
			return nil, fmt.Errorf("line of more than %d bytes", limit)
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more into the buffer, making room first.
func (c *cursor) fill() error {
	if c.r > 0 {
		copy(c.buf, c.buf[c.r:c.w])
		c.r, c.w = 0, c.w-c.r
	}
	if c.w == len(c.buf) || c.line > 0 && c.news >= len(c.buf) && len(c.buf) < readBuffer {
		c.resize(max(2*len(c.buf), readBuffer))
	}
	n, err := c.f.Read(c.buf[c.w:])
	c.w += n
	c.news += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// caughtUp lets go of large buffers if little was written since it was called
// before. What next returned before is not used any more.
func (c *cursor) caughtUp() {
	if c.news <= followBuffer && c.w-c.r <= followBuffer/2 {
		if len(c.buf) > followBuffer {
			c.resize(followBuffer)
		}
		if cap(c.dec.scratch)+cap(c.dec.binary) > followBuffer {
			c.dec = decoder{}
		}
	}
	c.news = 0
}

// resize moves what is read and not yet used into another buffer.
func (c *cursor) resize(size int) {
	buf := make([]byte, size)
	c.r, c.w = 0, copy(buf, c.buf[c.r:c.w])
	c.buf = buf
}
