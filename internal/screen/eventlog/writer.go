package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
)

// A Writer appends to a log. It belongs to one goroutine.
type Writer struct {
	o   Options
	dir string
	fs  files

	// Number and time of the event appended last.
	seq uint64
	us  int64

	f       file // the newest segment
	index   int  // its number, or of the newest segment found
	kept    []kept
	base    int64  // bytes of the newest segment's header and repaint
	pending []byte // whole lines, not yet written
	fresh   bool   // events were appended since the last Flush
	prevUS  int64  // the time that the next line's interval counts from

	dropped      int
	droppedBytes int64

	pause     *pause // or nil while the disk takes what it is given
	lost      lost
	news      error // what the next Flush returns
	nextTry   time.Duration
	nextCheck time.Duration
	syncing   chan error // of the segment being synced, or nil
	closed    bool
	recorded  Position // where the log of the writer before this one ended
}

// kept is a segment on the disk.
type kept struct {
	index int
	seq   uint64 // of the last event before it
	size  int64
}

// Create creates a log in dir, or continues one if o.After is not zero. A
// running session must not end because of its log: if continuing fails, for
// lack of space for example, the Writer starts paused, and the first Flush
// reports it.
func Create(dir string, o Options) (*Writer, error) {
	return create(dir, o, osFiles{})
}

func create(dir string, o Options, fs files) (*Writer, error) {
	if o.Sync == "" {
		o.Sync = SyncRotate
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
		if o.LimitBytes > 0 {
			o.SegmentBytes = min(o.SegmentBytes, max(o.LimitBytes/8, 1))
		}
	}
	if o.Header.Cols < 1 || o.Header.Rows < 1 {
		return nil, fault.Errorf(fault.Usage, "create event log: terminal of %dx%d", o.Header.Cols, o.Header.Rows)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create event log: %w", err)
	}
	w := &Writer{o: o, dir: dir, fs: fs, seq: o.After.Seq, us: o.After.Elapsed.Microseconds()}
	if err := w.adopt(); err != nil {
		return nil, fmt.Errorf("create event log: %w", err)
	}
	w.tick()
	if err := w.begin(w.unnoted()); err != nil {
		if o.After == (Position{}) {
			return nil, fmt.Errorf("create event log: %w", err)
		}
		w.stop(err)
	}
	return w, nil
}

// tick returns the time for an event. It is monotonic, whatever the clock
// does.
func (w *Writer) tick() int64 {
	w.us = max(w.us, w.o.Clock().Microseconds())
	return w.us
}

// Append adds an event and returns its number. The next Flush writes it.
// Output and input that are not valid UTF-8 become several events, of text and
// of bytes, and the last one's number is returned. A caller that reads in
// chunks avoids that with [UTF8Prefix].
func (w *Writer) Append(code string, data []byte) uint64 {
	w.fresh = true
	us := w.tick()
	if code == Resize {
		if cols, rows, ok := parseSize(string(data)); ok {
			w.o.Header.Cols, w.o.Header.Rows = cols, rows
		}
	}
	if w.pause != nil || w.closed {
		w.lose(code, data)
		return w.seq
	}
	switch {
	case utf8.Valid(data):
		w.text(us, code, data)
	case code == Output:
		w.mixed(us, Output, OutputBytes, data)
	case code == Input:
		w.mixed(us, Input, InputBytes, data)
	case code == OutputBytes, code == InputBytes:
		w.binary(us, code, data)
	default:
		w.text(us, code, bytes.ToValidUTF8(data, []byte("\uFFFD")))
	}
	if len(w.pending) >= maxPending {
		w.write()
	}
	return w.seq
}

func (w *Writer) text(us int64, code string, data []byte) {
	if code == OutputBytes || code == InputBytes {
		w.binary(us, code, data)
		return
	}
	w.pending = appendText(w.pending, us-w.prevUS, code, data)
	w.prevUS = us
	w.seq++
}

func (w *Writer) binary(us int64, code string, data []byte) {
	w.pending = appendBinary(w.pending, us-w.prevUS, code, data)
	w.prevUS = us
	w.seq++
}

// maxPieces bounds the events that one Append produces, before one with the rest.
const maxPieces = 16

// mixed appends data that is not valid UTF-8: text where possible, so that a
// player shows it, and bytes elsewhere. After maxPieces changes between the
// two, the rest is bytes.
func (w *Writer) mixed(us int64, text, binary string, data []byte) {
	for range maxPieces / 2 {
		if len(data) == 0 {
			return
		}
		good, bad := splitUTF8(data)
		if good > 0 {
			w.text(us, text, data[:good])
		}
		if bad > 0 {
			w.binary(us, binary, data[good:good+bad])
		}
		data = data[good+bad:]
	}
	if len(data) > 0 {
		w.binary(us, binary, data)
	}
}

// Flush writes everything appended since the last Flush with one write. If
// that fails the Writer is paused: Flush reports it once, and further events
// are counted and dropped until the disk can be written again.
func (w *Writer) Flush() error {
	if w.closed {
		return os.ErrClosed
	}
	if w.pause != nil && !w.fresh {
		w.retry(false)
	}
	w.fresh = false
	w.write()
	if w.pause == nil {
		w.check()
	}
	if w.pause == nil && w.o.Sync == SyncAlways {
		if err := w.f.Sync(); err != nil {
			w.stop(err)
		}
	}
	err := w.news
	w.news = nil
	return err
}

// write writes the pending lines to the newest segment.
func (w *Writer) write() {
	if len(w.pending) == 0 || w.pause != nil {
		return
	}
	n, err := w.f.Write(w.pending)
	if err != nil {
		w.fail(n, err)
	} else {
		w.kept[len(w.kept)-1].size += int64(n)
	}
	w.pending = w.pending[:0]
	if cap(w.pending) > keepPending {
		w.pending = nil
	}
}

// Close flushes, syncs and waits for the Writer's goroutine. The error says
// what may be missing in the log. A paused Writer tries once more.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	err := w.Flush()
	if w.pause != nil {
		w.retry(true)
	}
	if w.pause != nil {
		err = w.pause.err
	}
	w.closed = true
	err = errors.Join(err, w.awaitSync())
	if w.f != nil {
		err = errors.Join(err, syncClose(w.f, w.fs, w.dir))
		w.f = nil
	}
	if err != nil {
		return fmt.Errorf("close event log: %w", err)
	}
	return nil
}

// Position returns the end of the log, including pending events.
func (w *Writer) Position() Position {
	return Position{w.seq, time.Duration(w.us) * time.Microsecond}
}

// Stats describes the log. Bytes are those written, not those pending.
func (w *Writer) Stats() Stats {
	s := Stats{
		Segments:        len(w.kept),
		DroppedSegments: w.dropped,
		DroppedBytes:    w.droppedBytes,
		LostEvents:      w.lost.events,
		LostBytes:       w.lost.bytes,
	}
	for _, k := range w.kept {
		s.Bytes += k.size
	}
	if len(w.kept) > 0 {
		s.FirstSeq = w.kept[0].seq + 1
	}
	if w.pause != nil {
		s.Paused = w.pause.err.Error()
	}
	return s
}
