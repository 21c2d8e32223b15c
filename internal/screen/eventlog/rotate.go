package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"den/internal/base/fault"
)

// RotateIfFull starts a new segment if the newest one is full. The emulator
// must be up to date, because the segment begins with a repaint. It also
// retries if the Writer is paused.
func (w *Writer) RotateIfFull() error {
	if w.closed {
		return nil
	}
	if w.pause != nil {
		w.retry(false)
		return nil
	}
	size := w.kept[len(w.kept)-1].size + int64(len(w.pending))
	if size < w.o.SegmentBytes || size < 2*w.base || w.o.Clock() < w.nextTry {
		return nil
	}
	return w.Rotate()
}

// Rotate starts a new segment now. If that fails the old one is continued, and
// nothing is lost.
func (w *Writer) Rotate() error {
	if err := w.Flush(); err != nil || w.pause != nil {
		return err
	}
	old := w.f
	if err := w.begin(nil); err != nil {
		w.nextTry = w.o.Clock() + retryEvery
		return fmt.Errorf("begin log segment: %w", err)
	}
	w.syncLater(old)
	return nil
}

// begin creates the next segment with these event lines and makes it the
// newest. The old one stays open and belongs to the caller.
func (w *Writer) begin(lines []byte) error {
	index := w.index + 1
	var repaint []byte
	if w.o.Repaint != nil {
		repaint = w.o.Repaint()
	}
	us := w.tick()
	head, err := encodeHeader(w.o.Header, w.o.Now(), denJSON{
		V: Version, Segment: index, Seq: w.seq, Elapsed: us, Repaint: len(repaint) > 0,
	})
	if err != nil {
		return err
	}
	head = slices.Grow(head, len(repaint)*9/8+6*min(len(repaint), escapeBlock)) // in one piece: it may be large
	switch {
	case len(repaint) == 0:
	case utf8.Valid(repaint):
		head = appendText(head, 0, Output, repaint)
	default:
		head = appendBinary(head, 0, OutputBytes, repaint)
	}
	base := int64(len(head))
	head = append(head, lines...)
	f, err := w.makeSegment(segmentName(index), head)
	if err != nil {
		return err
	}
	w.f, w.index, w.base, w.prevUS = f, index, base, us
	w.kept = append(w.kept, kept{index: index, seq: w.seq, size: int64(len(head))})
	w.seq += uint64(bytes.Count(lines, []byte{'\n'}))
	w.drop()
	return nil
}

// makeSegment writes the begin of a segment to a temporary file and renames
// it, so that a reader finds it complete or not at all.
func (w *Writer) makeSegment(name string, head []byte) (file, error) {
	path := filepath.Join(w.dir, name)
	w.fs.remove(path + unfinished) // Best effort: left by a try that failed.
	f, err := w.fs.create(path + unfinished)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(head); err == nil {
		err = w.fs.rename(path+unfinished, path)
	}
	if err != nil {
		f.Close()
		w.fs.remove(path + unfinished) // Best effort: it takes room and says nothing.
		return nil, err
	}
	return f, nil
}

// drop removes the oldest segments so that the newest one can grow to its size
// within the limit.
func (w *Writer) drop() {
	if w.o.LimitBytes <= 0 {
		return
	}
	last := len(w.kept) - 1
	total := max(w.kept[last].size, w.o.SegmentBytes)
	for _, k := range w.kept[:last] {
		total += k.size
	}
	for len(w.kept) > 1 && total > w.o.LimitBytes {
		k := w.kept[0]
		if err := w.fs.remove(filepath.Join(w.dir, segmentName(k.index))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // Tried again at the next rotation.
		}
		w.kept = append(w.kept[:0], w.kept[1:]...)
		w.dropped++
		w.droppedBytes += k.size
		total -= k.size
	}
}

// syncLater syncs and closes a finished segment in the background, one at a
// time: a disk that cannot keep up slows the writer down here.
func (w *Writer) syncLater(f file) {
	if err := w.awaitSync(); err != nil {
		w.news = errors.Join(w.news, err)
	}
	done := make(chan error, 1) // one slot: the goroutine never waits
	w.syncing = done
	fs, dir := w.fs, w.dir
	go func() { done <- syncClose(f, fs, dir) }()
}

// awaitSync waits until no segment is being synced.
func (w *Writer) awaitSync() error {
	if w.syncing == nil {
		return nil
	}
	err := <-w.syncing
	w.syncing = nil
	return err
}

func syncClose(f file, fs files, dir string) error {
	err := errors.Join(f.Sync(), f.Close(), fs.syncDir(dir))
	if err != nil {
		return &fault.Error{Kind: fault.Storage, Err: fmt.Errorf("sync log segment: %w", err)}
	}
	return nil
}
