package controller

import (
	"encoding/json"
	"errors"
	"log"
	"os"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/keeper"
)

// maxEvents bounds the file of events: beyond it the older half moves to a
// second file, which replaces the one before.
const maxEvents = 8 << 20

// journal is the file of events. One process writes it: the one that holds the
// workspace's lock.
type journal struct {
	path  string
	clock func() time.Time

	mu      sync.Mutex // guards the fields below
	f       *os.File
	seq     uint64
	size    int64
	more    chan struct{} // closed, and replaced, at each event
	failing bool          // the last event was not written
}

func openJournal(path string, clock func() time.Time) (*journal, error) {
	j := &journal{path: path, clock: clock, more: make(chan struct{})}
	whole := int64(0)
	for _, p := range []string{path + ".1", path} {
		size, err := keeper.ScanEvents(p, func(e keeper.Event) error { j.seq = max(j.seq, e.Seq); return nil })
		if err != nil {
			return nil, err
		}
		whole = size
	}
	var err error
	if j.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "open the events: %w", err)
	}
	// A line that a dying keeper left half written never was an event.
	if err := j.f.Truncate(whole); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "mend the events: %w", err)
	}
	if _, err := j.f.Seek(whole, 0); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "open the events: %w", err)
	}
	j.size = whole
	return j, nil
}

// append writes one event. A disk that takes no more does not stop a keeper:
// the number is not used up, so that what was written has no gap.
func (j *journal) append(e keeper.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Seq, e.Time = j.seq+1, j.clock().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // events are plain values
	}
	line = append(line, '\n')
	if _, err := j.f.Write(line); err != nil {
		if !j.failing {
			log.Printf("write an event: %v; events are lost until it works again", err)
		}
		j.failing = true
		_ = j.f.Truncate(j.size) // Best effort: at the next start a torn line is mended anyway.
		_, _ = j.f.Seek(j.size, 0)
		return
	}
	j.failing = false
	j.seq++
	j.size += int64(len(line))
	if j.size > maxEvents {
		j.rotateLocked()
	}
	close(j.more)
	j.more = make(chan struct{})
}

func (j *journal) rotateLocked() {
	f, err := os.OpenFile(j.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = errors.Join(os.Rename(j.path, j.path+".1"), os.Rename(j.path+".new", j.path))
	}
	if err != nil {
		log.Printf("begin a new file of events: %v; the old one grows on", err)
		return
	}
	j.f.Close()
	j.f, j.size = f, 0
}

// since calls each with the events after seq, and returns a channel that is
// closed when there are more.
func (j *journal) since(seq uint64, each func(keeper.Event) error) (last uint64, more <-chan struct{}, err error) {
	j.mu.Lock()
	more = j.more
	j.mu.Unlock()
	last = seq
	for _, p := range []string{j.path + ".1", j.path} {
		if _, err := keeper.ScanEvents(p, func(e keeper.Event) error {
			if e.Seq <= last {
				return nil
			}
			last = e.Seq
			return each(e)
		}); err != nil {
			return last, more, err
		}
	}
	return last, more, nil
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.f.Close()
}
