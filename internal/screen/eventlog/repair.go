package eventlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Repaired describes what Repair did. The zero value means that nothing was
// wrong.
type Repaired struct {
	Segment string // the segment whose torn end was cut, or empty
	Bytes   int64  // how much was cut
	Removed bool   // not even its header was whole, so the file is gone
}

// Repair removes an incomplete last line from the last segment. The caller must
// know that no process writes the log.
func Repair(dir string) (Repaired, error) {
	l := &Log{dir: dir}
	entries, err := l.list()
	if err != nil {
		return Repaired{}, err
	}
	removeUnfinished(dir)
	if len(entries) == 0 {
		return Repaired{}, nil
	}
	name := entries[len(entries)-1].name
	m, err := repairFile(filepath.Join(dir, name))
	if err != nil {
		return Repaired{}, fmt.Errorf("repair log segment %s: %w", name, err)
	}
	if m != (Repaired{}) {
		m.Segment = name
	}
	return m, nil
}

func repairFile(path string) (Repaired, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Repaired{}, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Repaired{}, err
	}
	whole, err := wholeLines(f, size)
	switch {
	case err != nil:
		return Repaired{}, err
	case whole == 0:
		return Repaired{Bytes: size, Removed: true}, os.Remove(path)
	case whole == size:
		return Repaired{}, nil
	}
	if err := f.Truncate(whole); err != nil {
		return Repaired{}, err
	}
	return Repaired{Bytes: size - whole}, f.Sync()
}

// wholeLines returns the offset after the last newline.
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

// escapeGlob escapes dir for use in a glob pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
