package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/fault"
	"den/internal/base/journal"
)

// maxLine bounds a record: a line of the protocol with its tags, in JSON.
const maxLine = 128 << 10

// Open opens the log in a directory, which is made if it is missing, and reads
// it once to index it. What a crash left at the end of the newest segment is
// cut off. Only one process may have a log open; the caller sees to that.
func Open(dir string, options Options) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storage("make history directory", err)
	}
	l := &Log{dir: dir, options: options.withDefaults(), conversations: map[string][]entry{}, unsynced: map[*segment]struct{}{}}
	if err := l.load(); err != nil {
		for _, s := range l.segments {
			s.file.Close() // Best effort: it was only read.
		}
		return nil, fmt.Errorf("open history %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) load() error {
	numbers, err := segmentNumbers(l.dir)
	if err != nil {
		return err
	}
	for i, number := range numbers {
		if err := l.loadSegment(number, i == len(numbers)-1); err != nil {
			return err
		}
	}
	if len(l.segments) > 0 {
		return l.trimLocked()
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	s, err := createSegment(l.dir, next)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, s)
	return nil
}

func segmentNumbers(dir string) ([]int, error) {
	paths, err := filepath.Glob(filepath.Join(dir, segmentPattern))
	if err != nil {
		return nil, storage("list history", err)
	}
	var numbers []int
	for _, path := range paths {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(path), segmentName, &n); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// loadSegment indexes one file. A file whose header a crash cut off has no
// record and is replaced.
func (l *Log) loadSegment(number int, newest bool) error {
	path := filepath.Join(l.dir, fmt.Sprintf(segmentName, number))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return storage("open segment", err)
	}
	s := &segment{number: number, path: path, file: f}
	fi, err := f.Stat()
	if err == nil {
		err = l.scan(s, fi.Size())
	}
	if err != nil {
		f.Close() // Best effort: it was only read.
		return err
	}
	if s.size == 0 {
		return s.remove()
	}
	l.segments = append(l.segments, s)
	if newest && fi.Size() > s.size {
		if err := f.Truncate(s.size); err != nil {
			return storage("cut off a damaged end", err)
		}
	}
	return nil
}

// scan reads the records of a segment, which has end bytes, into the index. It
// sets the size to the end of the last good one.
func (l *Log) scan(s *segment, end int64) error {
	first, failed := true, error(nil)
	whole, err := journal.Lines(s.file, maxLine, func(line []byte, end int64) error {
		if first {
			first = false
			if err := checkHeader(line); err != nil {
				if fault.KindOf(err) == fault.Protocol || bytes.HasPrefix(line, []byte(`{"format"`)) {
					failed = err
					return err
				}
				l.damaged++
			}
			s.size = end
			return nil
		}
		record, err := decode(line)
		if err != nil || record.ID <= l.last {
			l.damaged++
			return nil
		}
		s.size = end
		length := len(line) + 1 // with its end
		l.indexLocked(record.ID, record.Conversation, entry{record.ID, s, end - int64(length), int32(length)})
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return storage("read history", err)
	case whole < end:
		l.damaged++ // half a line
	}
	return nil
}
