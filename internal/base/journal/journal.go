// Package journal appends lines to files, and reads them.
//
// A File is one file, kept open by the process that writes it. A Journal is a
// File of JSON lines whose size is bounded: a full one is renamed to FILE.1, that
// one to FILE.2 and so on, and the oldest is removed.
//
// Each line is one write, and no write is synced: a crash of the process leaves
// whole lines, or one half line, which the next write ends and readers skip.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// Limits bound a journal.
type Limits struct {
	Bytes int64 // of a file; the line that reaches it is the last one
	Kept  int   // earlier files
}

// Journal is a file that lines are appended to. One process at a time writes it;
// its methods may be called concurrently.
type Journal struct {
	limits Limits

	mu   sync.Mutex // guards the file
	file *File
}

// Open returns the journal at a path. Nothing is made before the first line.
func Open(path string, l Limits) *Journal { return &Journal{limits: l, file: New(path)} }

// Append writes a value as one line.
func (j *Journal) Append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fault.Errorf(fault.Internal, "write %s: %w", j.file.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if fi, serr := os.Stat(j.file.path); serr == nil && fi.Size() >= j.limits.Bytes {
		err = j.file.Rotate(j.limits.Kept)
	}
	if err == nil { // the file may be moved away, so it is not kept open
		err = errors.Join(j.file.Append(line), j.file.Close())
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "write %s: %w", j.file.path, err)
	}
	return nil
}

// older names an earlier file; 0 is the newest.
func older(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// Read calls each with the whole lines of a journal, the oldest first. A journal
// that is not there has none. What is appended meanwhile may be missing.
func Read(path string, l Limits, each func(line []byte) error) error {
	for n := l.Kept; n >= 0; n-- {
		if err := ReadFile(older(path, n), 2*l.Bytes, each); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ReadFile calls each with the whole lines of a file, empty ones left out. Not
// more than limit bytes are read.
func ReadFile(path string, limit int64, each func(line []byte) error) error {
	f, err := atomicfile.Open(path)
	if err != nil {
		return fault.Errorf(fault.Storage, "read %s: %w", path, err)
	}
	defer f.Close() // Best effort: it was only read.
	_, err = Lines(io.LimitReader(f, limit), int(limit), func(line []byte, _ int64) error {
		if len(line) == 0 {
			return nil
		}
		return each(line)
	})
	return err
}

// State differs when something was appended. A journal that is not there has "".
func State(path string) (string, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Errorf(fault.Storage, "look at %s: %w", path, err)
	}
	return fmt.Sprintf("%d-%d", fi.Size(), fi.ModTime().UnixNano()), nil
}
