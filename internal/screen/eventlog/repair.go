package eventlog

import (
	"bytes"
	"den/internal/base/fault"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Repaired describes what Repair did. The zero value means that nothing was
// wrong.
type Repaired struct {
	Segment string // the segment whose torn end was cut, or empty
	Bytes   int64  // how much was cut
	Removed bool   // not even its header was whole, so the file is gone
}

// Repair removes an incomplete last line from the last segment. The caller must
// know that no process writes the log.
func Repair(dir string) (Repaired, error) {
	l := &Log{dir: dir}
	entries, err := l.list()
	if err != nil {
		return Repaired{}, err
	}
	removeUnfinished(dir)
	if len(entries) == 0 {
		return Repaired{}, nil
	}
	name := entries[len(entries)-1].name
	m, err := repairFile(filepath.Join(dir, name))
	if err != nil {
		return Repaired{}, fmt.Errorf("repair log segment %s: %w", name, err)
	}
	if m != (Repaired{}) {
		m.Segment = name
	}
	return m, nil
}

func repairFile(path string) (Repaired, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Repaired{}, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Repaired{}, err
	}
	whole, err := wholeLines(f, size)
	switch {
	case err != nil:
		return Repaired{}, err
	case whole == 0:
		return Repaired{Bytes: size, Removed: true}, os.Remove(path)
	case whole == size:
		return Repaired{}, nil
	}
	if err := f.Truncate(whole); err != nil {
		return Repaired{}, err
	}
	return Repaired{Bytes: size - whole}, f.Sync()
}

// wholeLines returns the offset after the last newline.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(buf)), 0)
		part := buf[:end-start]
		if _, err := f.ReadAt(part, start); err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// escapeGlob escapes dir for use in a glob pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// adopt reads the sizes of the existing segments. A new log has none.
func (w *Writer) adopt() error {
	l := &Log{dir: w.dir}
	entries, err := l.list()
	if err != nil {
		return err
	}
	if w.o.After == (Position{}) {
		if len(entries) > 0 {
			return fault.Hintf(fault.Errorf(fault.Busy, "%s already holds a log", w.dir),
				"a new session needs a directory of its own")
		}
		removeUnfinished(w.dir)
		return nil
	}
	// Best effort: readers ignore an incomplete end of a segment that is not
	// the last.
	Repair(w.dir)
	if entries, err = l.list(); err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	last, err := l.Last()
	if err != nil && !Missing(err) && fault.KindOf(err) != fault.NotFound {
		return err
	}
	if last.Seq > w.seq {
		return fault.Errorf(fault.Storage, "the log in %s goes on to event %d, past %d where it is to be continued", w.dir, last.Seq, w.seq)
	}
	w.recorded = last
	w.us = max(w.us, last.Elapsed.Microseconds())
	for _, e := range entries {
		fi, err := os.Stat(filepath.Join(w.dir, e.name))
		if err != nil {
			return err
		}
		k := kept{index: e.index, size: fi.Size()}
		if seg, err := l.segment(e); err == nil {
			k.seq = seg.Seq
		}
		w.kept = append(w.kept, k)
	}
	w.index = w.kept[len(w.kept)-1].index
	w.dropped = w.kept[0].index - 1
	return nil
}

var errReplaced = errors.New("the host was replaced while recording was paused")

// unnoted returns a note of the events that the previous writer did not
// record, or nothing.
func (w *Writer) unnoted() []byte {
	if len(w.kept) == 0 || w.recorded.Seq >= w.seq {
		return nil
	}
	return appendText(nil, 0, Note, encodeGap(gapJSON{From: w.recorded.Seq + 1, To: w.seq, Error: errReplaced.Error()}))
}
