package controller

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"math"
	"os"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/journal"
	"den/internal/keeper"
)

// maxEvents bounds the file of events: beyond it the older half moves to a
// second file, which replaces the one before.
const maxEvents = 8 << 20

// events is the file of events. One process writes it: the one that holds the
// workspace's lock.
type events struct {
	path  string
	clock func() time.Time
	limit int64 // maxEvents, but in tests

	mu      sync.Mutex // guards the fields below
	file    *journal.File
	seq     uint64
	files   uint64        // how many were begun, with the one that was found
	more    chan struct{} // closed, and replaced, at each event
	failing bool          // the last event was not written
}

func openEvents(path string, clock func() time.Time) (*events, error) {
	j := &events{path: path, clock: clock, limit: maxEvents, file: journal.New(path), files: 1, more: make(chan struct{})}
	whole := int64(0)
	for _, p := range []string{path + ".1", path} {
		size, err := keeper.ScanEvents(p, func(e keeper.Event) error { j.seq = max(j.seq, e.Seq); return nil })
		if err != nil {
			return nil, err
		}
		whole = size
	}
	if err := j.file.Open(os.O_CREATE); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "open the events: %w", err)
	}
	// A line that a dying keeper left half written never was an event.
	if err := j.file.Cut(whole); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "mend the events: %w", err)
	}
	return j, nil
}

// append writes one event. A disk that takes no more does not stop a keeper:
// the number is not used up, so that what was written has no gap.
func (j *events) append(e keeper.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Seq, e.Time = j.seq+1, j.clock().UTC()
	if e.Key == e.Agent {
		e.Key = "" // as mostly: said once
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // events are plain values
	}
	if err := j.file.Append(line); err != nil {
		if !j.failing {
			log.Printf("write an event: %v; events are lost until it works again", err)
		}
		j.failing = true
		return
	}
	j.failing = false
	j.seq++
	if j.file.Size() > j.limit {
		if err := j.file.Rotate(1); err != nil {
			log.Printf("begin a new file of events: %v; the old one grows on", err)
		} else {
			j.files++
		}
	}
	close(j.more)
	j.more = make(chan struct{})
}

// cursor is how far a reader of the journal has come.
type cursor struct {
	seq    uint64 // of the last event that it got
	file   uint64 // counts the files that were begun; 0 is the one before the first that was found
	offset int64  // in that file
	read   int64  // how many bytes it took, for tests
}

// part is a piece of a file of events that a reader has not seen.
type part struct {
	*os.File
	file   uint64
	offset int64
}

// since calls each with the events behind the cursor, and returns a channel
// that is closed when there are more. It reads only what was written since the
// last call, whatever the length of the files.
func (j *events) since(c *cursor, each func(keeper.Event) error) (more <-chan struct{}, err error) {
	parts, more, err := j.unread(*c)
	defer func() {
		for _, p := range parts {
			p.Close() // Best effort: it was only read.
		}
	}()
	if err != nil {
		return more, err
	}
	for _, p := range parts {
		n, err := keeper.DecodeEvents(io.NewSectionReader(p, p.offset, math.MaxInt64-p.offset), p.Name(), func(e keeper.Event) error {
			if e.Seq <= c.seq {
				return nil
			}
			c.seq = e.Seq
			return each(e)
		})
		c.file, c.offset = p.file, p.offset+n
		c.read += n
		if err != nil {
			return more, err
		}
	}
	return more, nil
}

// unread opens what the cursor has not seen, under the lock: a rotation renames
// files. The caller closes the parts, also after an error.
func (j *events) unread(c cursor) (parts []part, more <-chan struct{}, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range []struct {
		file uint64
		path string
	}{{j.files - 1, j.path + ".1"}, {j.files, j.path}} {
		if c.file > p.file {
			continue // it was read
		}
		f, err := os.Open(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return parts, j.more, fault.Errorf(fault.KindOf(err), "read the events: %w", err)
		}
		offset := int64(0)
		if c.file == p.file {
			offset = c.offset
		}
		parts = append(parts, part{f, p.file, offset})
	}
	return parts, j.more, nil
}

func (j *events) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}
