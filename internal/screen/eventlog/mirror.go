package eventlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"den/internal/base/fault"
)

// A Mirror copies a remote log, event by event, into a directory. The copy is
// an ordinary log, byte for byte the same. A Mirror belongs to one goroutine.
type Mirror struct {
	dir     string
	f       *os.File // the newest segment; or nil
	seq     uint64
	us      int64
	pending []byte // whole lines, not yet written
}

// OpenMirror starts a copy in dir, or continues an existing one.
func OpenMirror(dir string) (*Mirror, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mirror event log: %w", err)
	}
	if _, err := Repair(dir); err != nil {
		return nil, fmt.Errorf("mirror event log: %w", err)
	}
	m := &Mirror{dir: dir}
	l := &Log{dir: dir}
	entries, err := l.list()
	if err != nil || len(entries) == 0 {
		return m, err
	}
	last, err := l.Last()
	if err != nil {
		return nil, fmt.Errorf("mirror event log: %w", err)
	}
	m.seq, m.us = last.Seq, last.Elapsed.Microseconds()
	m.f, err = os.OpenFile(filepath.Join(dir, entries[len(entries)-1].name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("mirror event log: %w", err)
	}
	return m, nil
}

// Seq returns the number of the last event copied.
func (m *Mirror) Seq() uint64 { return m.seq }

// Begin starts a segment with the original's header line, and its repaint
// unless nil. Events missing between the last one and the segment's first are
// a gap, as in the original.
func (m *Mirror) Begin(index int, header []byte, repaint *Event) error {
	var seg Segment
	if err := decodeHeader(header, &seg); err != nil {
		return fmt.Errorf("mirror log segment %d: %w", index, err)
	}
	if bytes.ContainsRune(header, '\n') || !seg.numbered || seg.Repaint != (repaint != nil) || seg.Seq < m.seq {
		return fault.Errorf(fault.Protocol, "mirror log segment %d: it does not go on behind event %d", index, m.seq)
	}
	if err := m.Close(); err != nil {
		return err
	}
	head := append(bytes.Clone(header), '\n')
	if repaint != nil {
		head = appendEvent(head, 0, *repaint)
	}
	path := filepath.Join(m.dir, segmentName(index))
	f, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("mirror event log: %w", err)
	}
	if _, err = f.Write(head); err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		f.Close() // Best effort: the file is not used.
		return fmt.Errorf("mirror event log: %w", err)
	}
	m.f, m.seq, m.us = f, seg.Seq, seg.Elapsed.Microseconds()
	return nil
}

// Append adds the next event. It is written by the next Flush.
func (m *Mirror) Append(ev Event) error {
	us := ev.Time.Microseconds()
	if m.f == nil || ev.Seq != m.seq+1 || us < m.us {
		return fault.Errorf(fault.Protocol, "mirror event log: event %d does not go on behind event %d", ev.Seq, m.seq)
	}
	m.pending = appendEvent(m.pending, us-m.us, ev)
	m.seq, m.us = ev.Seq, us
	return nil
}

func appendEvent(b []byte, us int64, ev Event) []byte {
	if ev.Code == OutputBytes || ev.Code == InputBytes {
		return appendBinary(b, us, ev.Code, ev.Data)
	}
	return appendText(b, us, ev.Code, ev.Data)
}

// Flush writes the appended events with one write.
func (m *Mirror) Flush() error {
	if len(m.pending) == 0 {
		return nil
	}
	_, err := m.f.Write(m.pending)
	m.pending = m.pending[:0]
	if err != nil {
		return fmt.Errorf("mirror event log: %w", err)
	}
	return nil
}

// Close flushes and closes the copy. OpenMirror can continue it later.
func (m *Mirror) Close() error {
	if m.f == nil {
		return nil
	}
	err := m.Flush()
	if cerr := m.f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("mirror event log: %w", cerr)
	}
	m.f = nil
	return err
}
