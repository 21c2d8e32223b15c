package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/fault"
)

// errRemoved is reported because a write to an unlinked file succeeds but is
// lost.
var errRemoved = errors.New("the log's segment was removed from its directory")

// pause is the state while nothing can be recorded.
type pause struct {
	err  error
	from uint64 // the first event lost
	// events and bytes lost since from
	events uint64
	bytes  int64
	exit   []byte // the exit event, which is recorded late rather than never
}

// lost counts what was not recorded, over all pauses.
type lost struct {
	events uint64
	bytes  int64
}

// gapNote is the note in the log where events are missing.
type gapNote struct {
	Gap gapJSON `json:"gap"`
}

type gapJSON struct {
	From  uint64 `json:"from_seq"`
	To    uint64 `json:"to_seq"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error"`
}

func encodeGap(g gapJSON) []byte {
	b, _ := json.Marshal(gapNote{g}) // numbers and a string: cannot fail
	return b
}

// fail pauses the Writer after n bytes of the pending lines were written.
// Complete lines among them stay; the rest is truncated.
func (w *Writer) fail(n int, err error) {
	whole := bytes.LastIndexByte(w.pending[:n], '\n') + 1
	newest := &w.kept[len(w.kept)-1]
	newest.size += int64(whole)
	// Best effort: if this fails too, an incomplete line stays, which readers
	// and Repair handle.
	w.f.Truncate(newest.size)
	torn := w.pending[whole:]
	events := uint64(bytes.Count(torn, []byte{'\n'}))
	w.stop(err)
	w.pause.from -= events
	w.count(events, int64(len(torn)))
}

// stop pauses before the next event.
func (w *Writer) stop(err error) {
	w.pause = &pause{err: err, from: w.seq + 1}
	w.nextTry = w.o.Clock() + retryEvery
	w.news = errors.Join(w.news, fault.Hintf(
		&fault.Error{Kind: fault.Storage, Err: errors.Join(errPaused, err)},
		"the session goes on; it is recorded again when the disk takes it"))
}

var errPaused = errors.New("recording is paused")

// lose counts an event that cannot be recorded.
func (w *Writer) lose(code string, data []byte) {
	w.seq++
	if w.pause == nil {
		return // closed
	}
	if code == Exit {
		w.pause.exit = bytes.Clone(data)
	}
	w.count(1, int64(len(data)))
}

func (w *Writer) count(events uint64, bytes int64) {
	w.pause.events += events
	w.pause.bytes += bytes
	w.lost.events += events
	w.lost.bytes += bytes
}

// check detects, at most once a second, that the newest segment was unlinked.
func (w *Writer) check() {
	now := w.o.Clock()
	if now < w.nextCheck {
		return
	}
	w.nextCheck = now + retryEvery
	if fi, err := w.f.Stat(); err != nil || !unlinked(fi) {
		return
	}
	w.kept = slices.DeleteFunc(w.kept, func(k kept) bool {
		_, err := os.Lstat(filepath.Join(w.dir, segmentName(k.index)))
		return errors.Is(err, fs.ErrNotExist)
	})
	w.stop(errRemoved)
}

// Retry tries to resume recording if the Writer is paused, at most once a
// second by its clock. It returns why it is still paused, or nil. The emulator
// must be up to date.
func (w *Writer) Retry() error {
	if w.pause != nil && !w.closed {
		w.retry(false)
	}
	if w.pause != nil {
		return w.pause.err
	}
	return nil
}

// retry begins a new segment, with a note of what is missing before it.
func (w *Writer) retry(now bool) {
	if !now && w.o.Clock() < w.nextTry {
		return
	}
	w.nextTry = w.o.Clock() + retryEvery
	p, old := w.pause, w.f
	var lines []byte // in one write with the header: all or nothing
	if p.events > 0 {
		lines = appendText(lines, 0, Note, encodeGap(gapJSON{p.from, w.seq, p.bytes, p.err.Error()}))
	}
	if p.exit != nil {
		lines = appendText(lines, 0, Exit, bytes.ToValidUTF8(p.exit, nil))
	}
	if err := w.begin(lines); err != nil {
		p.err = err
		return
	}
	w.nextTry, w.pause = 0, nil
	if old != nil {
		old.Close() // Best effort: its last write failed already.
	}
}
