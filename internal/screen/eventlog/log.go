package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
)

const suffix = ".cast"

// A Log reads the segments in a directory, or one recording. It keeps no file
// open, needs no write permission, and sees what a writer appends.
type Log struct {
	dir  string
	file func() (*os.File, error) // the only segment, called dir; or nil: those in the directory
}

// A Segment is one file of a log, as its header describes it.
type Segment struct {
	Name    string
	Index   int
	Seq     uint64        // of the last event before this segment
	Elapsed time.Duration // when it began, since the session's start
	Size    int64
	Repaint bool // its first line repaints the terminal
	Header  Header

	numbered bool // it has den's own key; otherwise Seq and Elapsed are not known
}

// FirstSeq returns the number of the segment's first event, whether or not it
// exists.
func (s Segment) FirstSeq() uint64 { return s.Seq + 1 }

// Open opens the log in dir. If there is no segment, the error is
// fault.NotFound.
func Open(dir string) (*Log, error) {
	l := &Log{dir: dir}
	names, err := l.list()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, noSegments(dir)
	}
	return l, nil
}

// OpenFile returns a recording, one asciicast v3 file, as a log of one segment.
// name is for errors; open opens the file, once for each reading. A file that
// cannot be opened, or has no header, is an error.
func OpenFile(name string, open func() (*os.File, error)) (*Log, error) {
	l := &Log{dir: name, file: open}
	if _, err := l.segment(entry{name, 1}); err != nil {
		return nil, recordingError(name, err)
	}
	return l, nil
}

func recordingError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Errorf(fault.NotFound, "read the recording %s: %w", name, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Errorf(fault.Storage, "read the recording %s: it ends within its header", name)
	case fault.KindOf(err) == fault.Protocol:
		return err
	}
	return fault.Errorf(fault.Storage, "read the recording %s: %w", name, err)
}

func noSegments(dir string) error {
	return fault.Errorf(fault.NotFound, "no event log in %s: it has no segment (000001%s)", dir, suffix)
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("read event log: %w", err)}
	}
	return fmt.Errorf("read event log: %w", err)
}

// entry is a segment's file whose header was not read.
type entry struct {
	name  string
	index int
}

// list returns the segments' files in order.
func (l *Log) list() ([]entry, error) {
	if l.file != nil {
		return []entry{{l.dir, 1}}, nil
	}
	d, err := os.Open(l.dir)
	if err != nil {
		return nil, notFound(err)
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return nil, notFound(err) // it may go away between the two
	}
	var found []entry
	for _, name := range names {
		if i, ok := segmentIndex(name); ok {
			found = append(found, entry{name, i})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return a.index - b.index })
	return found, nil
}

func segmentName(index int) string { return fmt.Sprintf("%06d%s", index, suffix) }

func segmentIndex(name string) (int, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) < 6 {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	// The round trip rejects signs and alternative names of a number.
	return n, err == nil && n > 0 && segmentName(n) == name
}

// Segments describes all segments, from their headers alone. One whose header
// cannot be read is left out; reading the events reports it.
func (l *Log) Segments() ([]Segment, error) {
	entries, err := l.list()
	if err != nil {
		return nil, err
	}
	segs := make([]Segment, 0, len(entries))
	for _, e := range entries {
		seg, err := l.segment(e)
		if fault.KindOf(err) == fault.Protocol {
			return nil, err
		}
		if err == nil {
			segs = append(segs, seg)
		}
	}
	return segs, nil
}

// segment reads one header. The error is io.ErrUnexpectedEOF if it is
// incomplete.
func (l *Log) segment(e entry) (Segment, error) {
	c, err := l.openCursor(e)
	if err != nil {
		return Segment{}, err
	}
	defer c.close()
	return c.seg, nil
}

// Header returns the header of the first segment kept.
func (l *Log) Header() (Header, error) {
	segs, err := l.Segments()
	if err != nil {
		return Header{}, err
	}
	if len(segs) == 0 {
		return Header{}, noSegments(l.dir)
	}
	return segs[0].Header, nil
}

// Last returns the end of the log. It reads at most the last segment that has
// a header. If that is damaged, it returns the last position before the
// damage, and the [*Damage].
func (l *Log) Last() (Position, error) {
	entries, err := l.list()
	if err != nil {
		return Position{}, err
	}
	for _, e := range slices.Backward(entries) {
		c, err := l.openCursor(e)
		if fault.KindOf(err) == fault.Protocol {
			return Position{}, err
		}
		if err != nil {
			continue
		}
		if !c.seg.numbered && e.index > 1 {
			c.close()
			return l.lastByReading()
		}
		defer c.close()
		var ev Event
		for {
			if err = c.next(&ev); err != nil {
				break
			}
		}
		if err == io.EOF {
			err = nil
		}
		return Position{c.seq, c.time()}, err
	}
	return Position{}, noSegments(l.dir)
}

// lastByReading returns the end of a log whose segments do not say where they
// begin.
func (l *Log) lastByReading() (p Position, err error) {
	for ev, e := range l.Events(0) {
		if e != nil {
			err = e
			continue
		}
		p, err = Position{ev.Seq, ev.Time}, nil
	}
	return p, err
}

// SyncPolicy says when the log is synced to disk. Without a sync, flushed
// events survive a crash of the host but not of the machine.
type SyncPolicy string

const (
	SyncRotate SyncPolicy = "rotate" // a finished segment, and Close
	SyncAlways SyncPolicy = "always" // every Flush
)

const (
	DefaultSegmentBytes = 16 << 20
	DefaultLimitBytes   = 256 << 20

	// maxPending bounds what Append holds in memory: at this size it writes
	// without waiting for a Flush.
	maxPending = 1 << 20
	// keepPending is the buffer size that an idle Writer keeps.
	keepPending = 512 << 10
	// retryEvery is how often a paused Writer tries the disk again.
	retryEvery = time.Second
)

// Options say how a log is written. Clock and Now must be given.
type Options struct {
	Header Header // Cols and Rows follow the resize events for later segments

	// SegmentBytes is the size at which RotateIfFull begins a new segment; 0
	// is DefaultSegmentBytes, or an eighth of the limit if that is less. A
	// segment always holds at least as much in events as in its repaint.
	SegmentBytes int64
	// LimitBytes bounds the log by dropping its oldest segments; 0 is no
	// limit. The segment being written is never dropped.
	LimitBytes int64

	Sync SyncPolicy // empty is SyncRotate

	Clock func() time.Duration // monotonic, since the session's start
	Now   func() time.Time     // the wall clock, for headers

	// Repaint returns the bytes that redraw the whole terminal in a fresh
	// emulator, or nothing. It is called by Create, Rotate, RotateIfFull,
	// Retry, by Flush when nothing was appended since the last one, and by
	// Close; at those points it must reflect every event appended so far. It
	// may be nil.
	Repaint func() []byte

	// After is the position at which an earlier writer of this log stopped,
	// zero for a new log. Numbering continues from there in a new segment.
	After Position
}

// Stats describe a log being written.
type Stats struct {
	Bytes           int64  `json:"bytes"`
	Segments        int    `json:"segments"`
	FirstSeq        uint64 `json:"first_seq"` // the oldest event kept, should there be one
	DroppedSegments int    `json:"dropped_segments"`
	DroppedBytes    int64  `json:"dropped_bytes"`    // by this writer
	Paused          string `json:"paused,omitempty"` // why nothing is recorded now
	LostEvents      uint64 `json:"lost_events"`      // not recorded while paused
	LostBytes       int64  `json:"lost_bytes"`
}

// Damage reports a part of a segment that cannot be read. An iterator yields
// it once, skips the rest of the segment and continues with the next.
type Damage struct {
	Segment string // the file's name
	Line    int    // counted from 1, the header
	Seq     uint64 // the first event that could not be read, or 0 if not known
	Err     error
}

func (d *Damage) Error() string {
	if d.Seq == 0 {
		return fmt.Sprintf("log segment %s is damaged at line %d: %v", d.Segment, d.Line, d.Err)
	}
	return fmt.Sprintf("log segment %s is damaged at line %d (event %d): %v", d.Segment, d.Line, d.Seq, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// A Gap reports that the events From to To, inclusive, are not in the log:
// dropped because of the size limit, or not recorded because the disk was
// full. An iterator yields it in their place and continues.
type Gap struct {
	From, To uint64
}

func (g *Gap) Error() string {
	return fmt.Sprintf("events %d to %d are not in the log", g.From, g.To)
}

// Missing reports whether err is a [*Damage] or a [*Gap]: something is
// missing, and the iterator that yielded err continues after it.
func Missing(err error) bool {
	var d *Damage
	var g *Gap
	return errors.As(err, &d) || errors.As(err, &g)
}

// A Tail reads a log from some point to its current end, and continues when it
// grows. It belongs to one goroutine.
type Tail struct{ walker }

// Tail returns a Tail that begins at the head of the segment with the event
// after after, so that the terminal can be rebuilt: the first events may be
// earlier ones. With 0 it begins at the begin of the log.
func (l *Log) Tail(after uint64) (*Tail, error) {
	t := &Tail{walker{log: l}}
	return t, t.start(after)
}

// Next returns the next event, including repaints, or io.EOF if there is none
// yet. It continues after a [*Damage] or a [*Gap] (see [Missing]); any other
// error is final.
func (t *Tail) Next() (Event, error) {
	var ev Event
	err := t.next(&ev)
	return ev, err
}

// Segment returns the segment of the event that Next returned last.
func (t *Tail) Segment() Segment { return t.cur.seg }

// Close lets go of the log.
func (t *Tail) Close() { t.close() }
