package eventlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Mended says what Mend did. The zero value: nothing was wrong.
type Mended struct {
	Segment string // the segment whose torn end was cut, or empty
	Bytes   int64  // how much was cut
	Removed bool   // not even its header was whole, so the file is gone
}

// Mend truncates an incomplete last line of the last segment. The caller must
// know that no process writes the log.
func Mend(dir string) (Mended, error) {
	l := &Log{dir: dir}
	entries, err := l.list()
	if err != nil {
		return Mended{}, err
	}
	removeUnfinished(dir)
	if len(entries) == 0 {
		return Mended{}, nil
	}
	name := entries[len(entries)-1].name
	m, err := mendFile(filepath.Join(dir, name))
	if err != nil {
		return Mended{}, fmt.Errorf("mend log segment %s: %w", name, err)
	}
	if m != (Mended{}) {
		m.Segment = name
	}
	return m, nil
}

func mendFile(path string) (Mended, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Mended{}, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Mended{}, err
	}
	whole, err := wholeLines(f, size)
	switch {
	case err != nil:
		return Mended{}, err
	case whole == 0:
		return Mended{Bytes: size, Removed: true}, os.Remove(path)
	case whole == size:
		return Mended{}, nil
	}
	if err := f.Truncate(whole); err != nil {
		return Mended{}, err
	}
	return Mended{Bytes: size - whole}, f.Sync()
}

// wholeLines returns the offset behind the last newline, looking from the end.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(buf)), 0)
		part := buf[:end-start]
		if _, err := f.ReadAt(part, start); err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// escapeGlob makes dir stand for itself in a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
