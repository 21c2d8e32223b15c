package eventlog

import (
	"errors"
	"os"
	"path/filepath"

	"den/internal/base/fault"
)

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
