package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"den/internal/base/fault"
)

// walker reads a log across its segments, up to its current end.
type walker struct {
	log     *Log
	cur     *cursor // or nil between segments
	index   int     // of the segment last opened or left out
	seq     uint64  // the last event passed
	known   bool    // seq is a number, not "wherever the log begins"
	us      int64
	passed  uint64 // events of segments without den's key before the next one
	skip    bool   // the rest of cur is damaged
	sealed  bool   // a later segment exists, so cur will not grow
	newest  bool   // no segment has come since next last returned io.EOF
	den     bool   // the log is den's own: each segment says where it begins
	damaged bool   // a *Damage already stands for what is missing before the next segment
}

func (w *walker) close() {
	if w.cur != nil {
		w.cur.close()
		w.cur = nil
	}
}

// start opens the last segment that begins at or before seq after, or the
// first one.
func (w *walker) start(after uint64) error {
	entries, err := w.log.list()
	if err != nil {
		return err
	}
	w.seq, w.known = after, after > 0
	for _, e := range slices.Backward(entries) {
		seg, err := w.log.segment(e)
		if fault.KindOf(err) == fault.Protocol {
			return err
		}
		if err != nil || !seg.numbered {
			continue
		}
		w.den = true
		if seg.Seq <= after {
			w.index = e.index - 1
			return nil
		}
	}
	return nil
}

// next decodes the next event, including repaints. It returns io.EOF if there
// is none yet. After a *Damage or a *Gap it continues; any other error is
// final.
func (w *walker) next(ev *Event) error {
	for {
		if w.cur == nil {
			if err := w.open(); err != nil {
				return err
			}
		}
		err := io.EOF
		if !w.skip {
			err = w.cur.next(ev)
		}
		switch {
		case err == nil:
			w.seq, w.us = max(w.seq, ev.Seq), w.cur.us
			return nil
		case err != io.EOF:
			w.skip, w.damaged = true, true
			return err
		case w.sealed:
			// Read to its end after a later one was seen: all of it.
			w.us, w.passed = max(w.us, w.cur.us), w.cur.seq
			w.cur.close()
			w.cur = nil
		case w.newest:
			return io.EOF
		default:
			later, err := w.later()
			if err != nil {
				return err
			}
			if len(later) == 0 {
				return io.EOF
			}
			w.sealed = true
		}
	}
}

var errNoPlace = errors.New("header does not say where in the session it begins")

// later lists the segments after the current one.
func (w *walker) later() ([]entry, error) {
	entries, err := w.log.list()
	if err != nil {
		return nil, err
	}
	i, _ := slices.BinarySearchFunc(entries, w.index+1, func(e entry, n int) int { return e.index - n })
	return entries[i:], nil
}

// open opens the next segment. It first returns a *Gap if events are missing
// before it.
func (w *walker) open() error {
	entries, err := w.later()
	if err != nil {
		return err
	}
	for i, e := range entries {
		last := i == len(entries)-1
		c, err := w.log.openCursor(e)
		if err == nil && !c.seg.numbered && w.den {
			c.close()
			err = errNoPlace
		}
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist):
			continue // dropped since it was listed
		case last && errors.Is(err, io.ErrUnexpectedEOF):
			return io.EOF
		case fault.KindOf(err) == fault.Protocol, errors.Is(err, fs.ErrPermission):
			return err
		default:
			w.index, w.damaged = e.index, true
			return &Damage{Segment: e.name, Line: 1, Seq: w.seq + 1, Err: err}
		}
		if !c.seg.numbered {
			c.seq, c.us = w.passed, w.us // whatever the caller has read before
			c.seg.Seq, c.seg.Elapsed = c.seq, c.time()
		}
		w.cur, w.index, w.skip, w.sealed = c, e.index, false, !last
		w.den = w.den || c.seg.numbered
		gap := c.seq > w.seq && w.known && !w.damaged
		from := w.seq + 1
		w.seq, w.known, w.damaged = max(w.seq, c.seq), true, false
		if gap {
			return &Gap{From: from, To: c.seq}
		}
		return nil
	}
	return io.EOF
}

// file is a segment's file as a Writer uses it. Tests substitute failing ones.
type file interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Stat() (os.FileInfo, error)
	Close() error
}

// files makes segments.
type files interface {
	// create creates a file that must not exist.
	create(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error
}

type osFiles struct{}

func (osFiles) create(path string) (file, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (osFiles) rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) remove(path string) error { return os.Remove(path) }

func (osFiles) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil // EINVAL: a file system that does not sync directories
}

const unfinished = ".tmp"

// removeUnfinished removes temporary files of a writer that died while it
// created a segment.
func removeUnfinished(dir string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+suffix+unfinished))
	for _, path := range left {
		os.Remove(path) // Best effort: nobody reads it.
	}
}
