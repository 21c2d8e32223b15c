package harness

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"den/internal/agent/harness/ipc"
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/journal"
	"den/internal/base/statefile"
)

// defaultBuffer is how many messages are kept of each channel where the
// workspace does not say.
const defaultBuffer = 500

// buffer keeps the last messages of each target and how far each reader has
// read. Readers do not hide messages from each other. It is on disk: a file a
// target, of appended records, which is rewritten when half of it is old.
type buffer struct {
	dir  string
	size int // messages that are kept of each target, at least

	mu      sync.Mutex // guards the fields below
	targets map[string]*target
}

type target struct {
	name    string
	size    int           // as the buffer's
	file    *journal.File // or nil: nothing was written yet
	records int           // in the file
	last    uint64        // seq of the newest line ever
	lines   []ipc.Line
	cursors map[string]uint64 // by reader: the seq read last
}

// record is a line of a target's file. One field is set.
type record struct {
	Target string    `json:"target,omitempty"` // the first record
	V      int       `json:"v,omitempty"`
	Line   *ipc.Line `json:"line,omitempty"`
	Cursor *cursor   `json:"cursor,omitempty"`
}

type cursor struct {
	Reader string `json:"reader"`
	Seq    uint64 `json:"seq"`
}

const bufferVersion = 1

func openBuffer(dir string, size int) (*buffer, error) {
	if size == 0 {
		size = defaultBuffer
	}
	b := &buffer{dir: dir, size: size, targets: map[string]*target{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.Storage, "make the message buffer: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		t, err := b.readTarget(path)
		if err != nil {
			return nil, err
		}
		if t.name != "" {
			b.targets[t.name] = t
		}
	}
	return b, nil
}

func (b *buffer) newTarget(name string) *target {
	return &target{name: name, size: b.size, cursors: map[string]uint64{}}
}

// readTarget reads a target's file. A half record at its end is what a crash
// left: it is overwritten.
func (b *buffer) readTarget(path string) (*target, error) {
	t := b.newTarget("")
	err := journal.ReadFile(path, statefile.Large, func(line []byte) error {
		var r record
		if json.Unmarshal(line, &r) != nil {
			return nil // damaged: the rest is worth more than an error
		}
		t.apply(r)
		return statefile.Check(path, r.V, bufferVersion)
	})
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return t, nil
}

func (t *target) apply(r record) {
	t.records++
	switch {
	case r.Target != "":
		t.name = r.Target
	case r.Line != nil:
		t.take(*r.Line)
	case r.Cursor != nil:
		t.cursors[r.Cursor.Reader] = r.Cursor.Seq
		t.last = max(t.last, r.Cursor.Seq)
	}
}

// take appends a line in memory; the oldest go when twice as many are kept as
// need be.
func (t *target) take(l ipc.Line) {
	t.last = l.Seq
	t.lines = append(t.lines, l)
	if len(t.lines) > 2*t.size {
		t.lines = slices.Clone(t.lines[len(t.lines)-t.size:])
	}
}

func (b *buffer) path(name string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%x.jsonl", name))
}

// has reports whether a message is kept, by its id.
func (b *buffer) has(name, id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.targets[name]
	return t != nil && id != "" && slices.ContainsFunc(t.lines, func(l ipc.Line) bool { return l.ID == id })
}

// add keeps a message and returns it with its number. One that is there
// already, by its id, is false.
func (b *buffer) add(name string, l ipc.Line) (ipc.Line, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.targets[name]
	if t == nil {
		t = b.newTarget(name)
		b.targets[name] = t
	}
	if l.ID != "" && slices.ContainsFunc(t.lines, func(o ipc.Line) bool { return o.ID == l.ID }) {
		return l, false, nil
	}
	l.Seq = t.last + 1
	if err := b.write(t, record{Line: &l}); err != nil {
		return l, false, err
	}
	t.take(l)
	return l, true, nil
}

// read returns what a reader has not read, at most limit of it, the oldest
// first, and how many messages it missed because they are no longer kept. The
// rest stays unread.
func (b *buffer) read(name, reader string, limit int) (lines []ipc.Line, dropped uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.targets[name]
	if t == nil {
		return nil, 0, nil
	}
	seen := t.cursors[reader]
	first, _ := slices.BinarySearchFunc(t.lines, seen+1, func(l ipc.Line, seq uint64) int { return cmp.Compare(l.Seq, seq) })
	lines = slices.Clone(t.lines[first:])
	if limit > 0 && len(lines) > limit {
		lines = lines[:limit]
	}
	if len(lines) == 0 {
		return nil, 0, nil
	}
	newest := lines[len(lines)-1].Seq
	if err := b.write(t, record{Cursor: &cursor{Reader: reader, Seq: newest}}); err != nil {
		return nil, 0, err
	}
	t.cursors[reader] = newest
	return lines, lines[0].Seq - seen - 1, nil
}

// newest returns the newest message of a target.
func (b *buffer) newest(name string) (ipc.Line, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.targets[name]
	if t == nil || len(t.lines) == 0 {
		return ipc.Line{}, false
	}
	return t.lines[len(t.lines)-1], true
}

// newestDirect returns the newest message between the agent and a person. What
// was sent before it is known too: direct messages are taken in order.
func (b *buffer) newestDirect() (newest ipc.Line, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, t := range b.targets {
		if name == "" || strings.ContainsAny(name[:1], "#&+!") || len(t.lines) == 0 {
			continue // a channel, or nothing
		}
		if last := t.lines[len(t.lines)-1]; !found || last.At.After(newest.At) {
			newest, found = last, true
		}
	}
	return newest, found
}

// names lists the targets.
func (b *buffer) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.targets))
}

// write appends a record, or rewrites the file where most of it is old.
func (b *buffer) write(t *target, r record) error {
	if t.file == nil || t.records > 4*t.size {
		if err := b.rewrite(t); err != nil {
			return fault.Errorf(fault.Storage, "keep messages of %s: %w", t.name, err)
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := t.file.Append(data); err != nil {
		return fault.Errorf(fault.Storage, "keep messages of %s: %w", t.name, err)
	}
	t.records++
	return nil
}

// rewrite replaces the file by one with what is kept, and opens it.
func (b *buffer) rewrite(t *target) error {
	var all bytes.Buffer
	encode := json.NewEncoder(&all)
	records := []record{{Target: t.name, V: bufferVersion}}
	for i := range t.lines {
		records = append(records, record{Line: &t.lines[i]})
	}
	for reader, seq := range t.cursors {
		records = append(records, record{Cursor: &cursor{Reader: reader, Seq: seq}})
	}
	for _, r := range records {
		if err := encode.Encode(r); err != nil {
			return err
		}
	}
	file := cmp.Or(t.file, journal.New(b.path(t.name)))
	if err := file.Rewrite(all.Bytes(), atomicfile.Write); err != nil {
		return err
	}
	t.file, t.records = file, len(records)
	return nil
}

func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.targets {
		if t.file != nil {
			t.file.Close() // Best effort: every record was written.
		}
	}
}
