// Package history is the durable log of a chat server: every message that was
// accepted, found again by conversation, id and time.
//
// The log is a directory of append-only segments of JSON Lines. A record is
// written to the kernel before Append returns, so it survives a kill of the
// process; it is synced to the disk by Sync and by Close. Nobody waits for a
// disk that is slow to sync. The oldest segments are deleted to stay below the
// size limit. An index in memory has 32 bytes a message.
package history

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
)

// A Record is one message.
type Record struct {
	// ID orders all messages and is never reused. It is also the time, in
	// microseconds since 1970, unless the clock went back or two messages
	// share a microsecond: then it is the next free number.
	ID           uint64            `json:"id"`
	Conversation string            `json:"conversation"` // whose history it is in
	Command      string            `json:"command"`
	Source       string            `json:"source"`
	Account      string            `json:"account,omitempty"`
	Target       string            `json:"target"`
	Text         string            `json:"text,omitempty"`
	Raw          []byte            `json:"raw,omitempty"` // in place of Text if that is not UTF-8
	Tags         map[string]string `json:"tags,omitempty"`
}

// Time is when the message was accepted, in milliseconds, as clients see it.
func (r Record) Time() time.Time { return timeOf(r.ID) }

func timeOf(id uint64) time.Time { return time.UnixMicro(int64(id)).Truncate(time.Millisecond).UTC() }

// Options bound a log. Zero values mean the defaults.
type Options struct {
	MaxBytes     int64            // of all segments; default 64 MiB
	SegmentBytes int64            // of one segment; default a sixteenth of MaxBytes
	Now          func() time.Time // default time.Now

	sync func(*os.File) error // the disk's; set by tests
}

const defaultMaxBytes = 64 << 20

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.SegmentBytes <= 0 || o.SegmentBytes > o.MaxBytes {
		o.SegmentBytes = max(o.MaxBytes/16, 1)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.sync == nil {
		o.sync = (*os.File).Sync
	}
	return o
}

// A Log is the messages of one server.
type Log struct {
	dir     string
	options Options
	syncing sync.Mutex // held while the disk is waited for; before mu

	mu            sync.Mutex // guards the fields below
	segments      []*segment // oldest first; the last one is written to
	conversations map[string][]entry
	last          uint64                // the newest ID
	unsynced      map[*segment]struct{} // those with records that may not be on the disk
	damaged       int                   // records that could not be read when it was opened
	closed        bool
}

// An entry says where a message is.
type entry struct {
	id      uint64
	segment *segment
	offset  int64
	length  int32
}

// Append writes a message and returns it with its ID.
func (l *Log) Append(r Record) (Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, fault.Errorf(fault.NotRunning, "append to history: it is closed")
	}
	r.ID = max(l.last+1, uint64(l.options.Now().UnixMicro()))
	line, err := encode(r)
	if err != nil {
		return r, err
	}
	s := l.segments[len(l.segments)-1]
	if s.size+int64(len(line)) > l.options.SegmentBytes && s.size > headerSize {
		if s, err = l.rotateLocked(); err != nil {
			return r, err
		}
	}
	offset, err := s.append(line)
	if err != nil {
		return r, err
	}
	l.indexLocked(r.ID, r.Conversation, entry{r.ID, s, offset, int32(len(line))})
	l.unsynced[s] = struct{}{}
	return r, nil
}

func (l *Log) indexLocked(id uint64, conversation string, e entry) {
	l.last = id
	l.conversations[conversation] = append(l.conversations[conversation], e)
}

func (l *Log) rotateLocked() (*segment, error) {
	s, err := createSegment(l.dir, l.segments[len(l.segments)-1].number+1)
	if err != nil {
		return nil, err
	}
	l.segments = append(l.segments, s)
	return s, l.trimLocked()
}

// trimLocked deletes the oldest segments while the log is too large.
func (l *Log) trimLocked() error {
	var total int64
	for _, s := range l.segments {
		total += s.size
	}
	total += l.options.SegmentBytes // what the last one may become
	for len(l.segments) > 1 && total > l.options.MaxBytes {
		s := l.segments[0]
		if err := s.remove(); err != nil {
			return err
		}
		total -= s.size
		l.segments = l.segments[1:]
		delete(l.unsynced, s)
		l.forgetLocked(s)
	}
	return nil
}

func (l *Log) forgetLocked(s *segment) {
	for name, entries := range l.conversations {
		keep := 0
		for keep < len(entries) && entries[keep].segment == s {
			keep++
		}
		switch {
		case keep == len(entries):
			delete(l.conversations, name)
		case keep > 0:
			l.conversations[name] = slices.Clone(entries[keep:])
		}
	}
}

// Sync waits until all messages are on the disk that were accepted before.
// More are accepted meanwhile.
func (l *Log) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	segments := l.unsynced
	l.unsynced = map[*segment]struct{}{}
	l.mu.Unlock()
	for s := range segments {
		// One that was deleted meanwhile needs no sync.
		if err := l.options.sync(s.file); err != nil && !errors.Is(err, os.ErrClosed) {
			l.mu.Lock()
			maps.Copy(l.unsynced, segments)
			l.mu.Unlock()
			return storage("sync history", err)
		}
		delete(segments, s)
	}
	return nil
}

// Damaged is how many records could not be read when the log was opened. They
// are left out.
func (l *Log) Damaged() int { return l.damaged }

// Close syncs and closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true // nothing is appended from now on
	l.mu.Unlock()
	err := l.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if e := s.close(); err == nil {
			err = e
		}
	}
	return err
}
