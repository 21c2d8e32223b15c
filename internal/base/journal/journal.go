// Package journal appends JSON lines to a file of bounded size, and reads them.
//
// A full file is renamed to FILE.1, that one to FILE.2 and so on, and the oldest
// is removed. Each line is one write: a crash leaves whole lines, or one half
// line that the next write ends and readers skip.
package journal

import (
	"bytes"
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
	path   string
	limits Limits

	mu   sync.Mutex // guards the field below, and the file
	torn bool       // the last line may lack its end
}

// Open returns the journal at a path. Nothing is made before the first line.
func Open(path string, l Limits) *Journal { return &Journal{path: path, limits: l, torn: true} }

// Append writes a value as one line.
func (j *Journal) Append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fault.Errorf(fault.Internal, "write %s: %w", j.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.writeLocked(append(line, '\n')); err != nil {
		return fault.Errorf(fault.Storage, "write %s: %w", j.path, err)
	}
	return nil
}

func (j *Journal) writeLocked(line []byte) error {
	f, err := j.openLocked()
	if err != nil {
		return err
	}
	if j.torn && lacksEnd(f) {
		line = append([]byte("\n"), line...)
	}
	_, err = f.Write(line)
	j.torn = err != nil
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// openLocked opens the newest file, a new one if that is full.
func (j *Journal) openLocked() (*os.File, error) {
	if fi, err := os.Stat(j.path); err == nil && fi.Size() >= j.limits.Bytes {
		for n := j.limits.Kept; n >= 1; n-- {
			if err := os.Rename(older(j.path, n-1), older(j.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// older names an earlier file; 0 is the newest.
func older(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// lacksEnd reports that a file's last line has no end.
func lacksEnd(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, fi.Size()-1)
	return err == nil && last[0] != '\n'
}

// Read calls each with the whole lines of a journal, the oldest first. A journal
// that is not there has none. What is appended meanwhile may be missing.
func Read(path string, l Limits, each func(line []byte) error) error {
	for n := l.Kept; n >= 0; n-- {
		data, err := readBounded(older(path, n), 2*l.Bytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fault.Errorf(fault.Storage, "read %s: %w", older(path, n), err)
		}
		for line := range bytes.Lines(data) {
			if line, whole := bytes.CutSuffix(line, []byte("\n")); whole && len(line) > 0 {
				if err := each(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readBounded reads a regular file, but not more of it than a journal writes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was read.
	return io.ReadAll(io.LimitReader(f, limit))
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
